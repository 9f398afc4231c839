# SPDX-License-Identifier: Apache-2.0
"""The agent as users run it: its image, installed by the chart, by the manifests, and by NVIDIA's."""
import json
import os
import pathlib
import re
import shlex

from cluster import nvidia
from cluster.cluster import until
from cluster.layout import BUSYBOX_IMAGE

from .configurations import time_slicing
from .gpus import DRIVER_ROOT
from .story import PODS, Story
from .story_sets import extended
from .under_test import only_ours

PROJECT = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = PROJECT / "deploy"
MANIFESTS = pathlib.Path(__file__).resolve().parents[1] / "manifests"
ARCHIVE = pathlib.Path(os.environ.get("TRANCHE_IMAGE", PROJECT / "build/tranche-device-plugin-image.tar"))
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
IMAGE_LINE = re.compile(r"^( +(?:- )?)image: .*$", re.MULTILINE)
LABEL = "nvidia.com/gpu.present=true"
TAINT = "nvidia.com/gpu=present:NoSchedule"
MIGRATION = PROJECT / "docs/migrating-from-nvidia.md"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def documented_settings(heading, command="helm upgrade --install tranche"):
    """The values that the page on migrating gives to helm below a heading, in a line with this command."""
    section = MIGRATION.read_text().partition(f"\n### {heading}\n")[2].partition("\n##")[0]
    line = re.search(f"^{command} .*", section.replace("\\\n", " "), re.MULTILINE)
    words = shlex.split(line[0])
    return [word for pair in zip(words, words[1:]) if pair[0].startswith("--set") for word in pair]


@only_ours("installs our image; NVIDIA's plugin is here as a program of its Go module, not as its image")
class Installed(Story):
    """What the ways to install have in common."""
    more_programs = ("nvidia", "helm")

    def setUp(self):
        super().setUp()
        nvidia.configure(self.cluster.layout, self.cluster.programs)
        self.addCleanup(self.remove_what_was_installed)
        self.label()
        self.bring_image()
        self.gpus("dgx-a100")

    def bring_image(self):
        self.cluster.import_image(ARCHIVE)

    def remove_what_was_installed(self):
        """Before the node is emptied: cleanups run last in, first out."""
        if self.has_failed():
            return
        for name in json.loads(self.helm("list", "--all", "-o", "json")):
            self.helm("uninstall", name["name"], "--wait")
        self.cluster.checked("kubectl", "delete", "daemonset,configmap", "--namespace=kube-system",
                             "-l", "app.kubernetes.io/name=tranche-device-plugin", "--wait")
        self.cluster.checked("kubectl", "delete", "daemonset", "--namespace=kube-system",
                             "nvidia-device-plugin-daemonset", "--ignore-not-found", "--wait")
        # The CRD stays when a release goes, and Helm takes none that it has not made.
        self.cluster.checked("kubectl", "delete", "crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,"
                             "validatingadmissionpolicybinding", "-l", "app.kubernetes.io/name=tranche-device-plugin")
        until(lambda: not self.agent_pods(), "the end of the agent's pods", 60)

    def helm(self, *words):
        folder = self.cluster.layout.state / "helm"
        return self.cluster.checked("env", f"HELM_CACHE_HOME={folder}", f"HELM_CONFIG_HOME={folder}",
                                    f"HELM_DATA_HOME={folder}", "helm", "--namespace=kube-system", *words)

    def install(self, *settings, command="install"):
        values = [word for setting in settings for word in ("--set-json", setting)]
        self.helm(command, "tranche", DEPLOY / "helm", *values)

    def label(self):
        """As node feature discovery or somebody has done: with a RuntimeClass the chart goes by it."""
        self.cluster.checked("kubectl", "label", "nodes", "--all", "--overwrite", LABEL)
        self.addCleanup(self.cluster.inside, "kubectl", "label", "nodes", "--all", LABEL.partition("=")[0] + "-")

    def taint(self):
        """As nodes with GPUs often are, to keep other pods away."""
        self.cluster.checked("kubectl", "taint", "nodes", "--all", TAINT)
        self.addCleanup(self.cluster.inside, "kubectl", "taint", "nodes", "--all", TAINT + "-")

    def agent_pods(self):
        return [pod for pod in self.cluster.api.get(SYSTEM_PODS)["items"]
                if "device-plugin" in pod["metadata"]["name"]]

    def agent_log(self):
        """Empty as long as no container has begun."""
        return self.cluster.inside("kubectl", "logs", "--namespace=kube-system", "--tail=-1",
                                   "-l", "app.kubernetes.io/name=tranche-device-plugin").stdout

    def agent_process(self):
        """Its folder in the machine's /proc."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (os.readlink(folder / "exe") == "/usr/bin/tranche-device-plugin" and
                        self.cluster.layout.cgroup in (folder / "cgroup").read_text()):
                    return folder
            except OSError:
                continue
        self.fail("the agent's process is not found")

    def run_under_nvidia(self, name, count=1, **options):
        return self.run_pod(name, count, runtimeClassName="nvidia", tolerations=[TOLERATION], **options)

    def assert_a_pod_gets_a_gpu(self, name="test-pod"):
        view = self.run_under_nvidia(name)
        self.assertEqual(len(view.reachable_minors()), 1, view)


class ByHelm(Installed):
    def test_with_a_runtime_class_only_nodes_that_are_labelled_get_the_agent(self):
        self.cluster.checked("kubectl", "label", "nodes", "--all", LABEL.partition("=")[0] + "-")
        self.install('runtimeClassName="nvidia"')
        def chosen():
            status = self.cluster.api.get("/apis/apps/v1/namespaces/kube-system/daemonsets/tranche-tranche-device-plugin")
            return status["status"].get("observedGeneration") and status["status"]["desiredNumberScheduled"]
        until(lambda: chosen() is not None, "the DaemonSet's status", 30)
        self.assertEqual((chosen(), self.agent_pods()), (0, []))
        self.label()
        self.until_offered(8)

    @extended
    def test_a_node_can_be_looked_at_before_anything_is_installed(self):
        """By the commands of docs/migrating-from-nvidia.md. Not by `kubectl run --rm -i`, which loses what a short
        command printed before it attached."""
        changes = {"spec": {"nodeName": self.cluster.layout.place.node_name, "runtimeClassName": "nvidia"}}
        self.cluster.checked("kubectl", "run", "tranche-look", "--restart=Never",
                             "--image=localhost/tranche-device-plugin:0.1.0", f"--overrides={json.dumps(changes)}",
                             "--", "devices")
        self.addCleanup(self.cluster.inside, "kubectl", "delete", "pod", "tranche-look", "--ignore-not-found")
        self.cluster.checked("kubectl", "wait", "pod/tranche-look", "--for=jsonpath={.status.phase}=Succeeded",
                             "--timeout=60s")
        seen = self.cluster.checked("kubectl", "logs", "tranche-look")
        self.assertIn("A100", seen)
        self.assertIn("nvidia.com/gpu", seen)
        self.assertEqual(self.agent_pods(), [])

    @extended
    def test_the_gpu_operators_label_stops_and_starts_the_agent(self):
        """As its MIG manager and driver manager do: docs/migrating-from-nvidia.md."""
        label = "nvidia.com/gpu.deploy.device-plugin"
        def set_label(value):
            self.cluster.checked("kubectl", "label", "nodes", "--all", "--overwrite", f"{label}={value}")
        self.addCleanup(self.cluster.inside, "kubectl", "label", "nodes", "--all", f"{label}-")
        set_label("true")
        self.helm("install", "tranche", DEPLOY / "helm", *documented_settings("NVIDIA's GPU operator"))
        self.until_offered(8)
        pod, = self.agent_pods()
        self.assertEqual(pod["metadata"]["labels"]["app"], "nvidia-device-plugin-daemonset")
        set_label("paused-for-mig-change")
        until(lambda: not self.agent_pods(), "the end of the agent's pod", 60)
        set_label("true")
        until(self.agent_pods, "the next pod", 60)
        self.until_offered(8)

    def test_the_agent_runs_on_a_tainted_node_and_the_test_pod_with_the_toleration_gets_a_gpu(self):
        self.taint()
        self.install('runtimeClassName="nvidia"')
        self.until_offered(8)
        self.assert_a_pod_gets_a_gpu()

    def test_the_agent_is_root_without_capabilities_on_a_read_only_file_system_without_a_shell(self):
        self.install('runtimeClassName="nvidia"')
        self.until_offered(8)
        process = self.agent_process()
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines()
                      if ":\t" in line)
        self.assertEqual(status["Uid"].split(), ["0"] * 4)
        for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        root = next(line for line in (process / "mounts").read_text().splitlines() if line.split()[1] == "/")
        self.assertIn("ro", root.split()[3].split(","))
        ours = [path.name for path in (process / "root/usr/bin").iterdir()
                if path.name == "nvidia-device-plugin" or not path.name.startswith("nvidia-")]  # the driver's
        self.assertEqual(sorted(ours), ["config-manager", "deepomatic-shared-gpu-gcp-k8s-device-plugin", "gpushare-device-plugin-v2",
                                        "mps-control-daemon", "nvidia-device-plugin", "tranche-device-plugin"])
        self.assertEqual(list((process / "root/usr/sbin").glob("*")), [])

    def test_every_part_of_a_driver_in_a_container_is_reached_by_values(self):
        """CDI without NVIDIA's runtime, as with the GPU operator's driver root."""
        hook = f"{self.cluster.programs['nvidia']}/nvidia-cdi-hook"
        # That hook needs the driver's files in /proc, which a simulated driver has not in containers.
        self.install("privileged=true", 'deviceListStrategy=["cdi-cri"]', f'cdi.nvidiaHookPath="{hook}"',
                     'cdi.disableHooks=["disable-device-node-modification"]',
                     f'nvidiaDriverRoot="{DRIVER_ROOT}"', 'hostRoot="/driver-root"')
        self.until_offered(8)
        view = self.run_pod("by-cdi", 2)
        self.assertEqual(len(view.reachable_minors()), 2)
        self.assertTrue(any("libnvidia-ml.so" in target for target in view.mounts), view.mounts)

    def test_the_agent_in_its_pod_offers_mig_devices(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.install('runtimeClassName="nvidia"', 'migStrategy="mixed"')
        slices = [device for device in gpus.mig_devices() if device.profile == "2g.10gb"]
        self.until_offered(len(slices), "nvidia.com/mig-2g.10gb")
        view = self.run_under_nvidia("slice", resource="nvidia.com/mig-2g.10gb")
        self.assertEqual(len([device for device in slices if set(device.nodes()) <= set(view.opens())]), 1, view)

    def test_a_node_without_a_driver_is_waited_for(self):
        """On the node's own runtime: that of NVIDIA would not start a container without a driver."""
        gpus = self.gpus("dgx-a100")
        gpus.fault("driver", "unload")
        self.install("privileged=true", f'nvidiaDriverRoot="{DRIVER_ROOT}"', 'hostRoot="/driver-root"')
        until(lambda: "driver is not loaded" in self.agent_log(), "the agent's word on it", 60)
        gpus.fault("driver", "load")
        self.until_offered(8)
        self.assertEqual(self.agent_pods()[0]["status"]["containerStatuses"][0]["restartCount"], 0)

    def test_a_rolling_update_takes_no_gpu_from_a_running_pod(self):
        self.cluster.checked("ctr", "images", "tag", "--force", "localhost/tranche-device-plugin:0.1.0",
                             "localhost/tranche-device-plugin:next")
        settings = ['runtimeClassName="nvidia"', "minReadySeconds=0"]
        self.install(*settings)
        self.until_offered(8)
        before = {name: self.run_under_nvidia(name, count) for name, count in (("one", 1), ("three", 3))}
        old = self.agent_pods()[0]["metadata"]["uid"]

        self.install(*settings, 'image.tag="next"', command="upgrade")
        self.cluster.checked("kubectl", "rollout", "status", "--namespace=kube-system", "--timeout=60s",
                             "daemonset/tranche-tranche-device-plugin")
        # A rollout is complete with the new pod ready; the old one may still be listed as it ends.
        until(lambda: old not in [pod["metadata"]["uid"] for pod in self.agent_pods()], "the old pod's end", 60)
        new, = self.agent_pods()
        self.assertEqual(new["spec"]["containers"][0]["image"], "localhost/tranche-device-plugin:next")
        self.until_offered(8)
        for name, view in before.items():
            self.assertEqual(self.look_again(name).reachable_minors(), view.reachable_minors())
        rest = self.run_under_nvidia("rest", 4)
        held = [minor for view in (*before.values(), rest) for minor in view.reachable_minors()]
        self.assertEqual(sorted(held), list(range(8)))

    def test_a_changed_config_map_is_followed_and_a_broken_one_refused_while_pods_go_on(self):
        config = {"map": {"default": json.dumps(time_slicing(2))}}
        self.install('runtimeClassName="nvidia"', f"config={json.dumps(config)}")
        self.until_offered(16)
        agent, = self.agent_pods()
        running = self.run_under_nvidia("runs")
        name, = (item["metadata"]["name"] for item in self.cluster.api.get(CONFIG_MAPS)["items"]
                 if "tranche" in item["metadata"]["name"])

        self.write_config(name, time_slicing(4))
        self.until_offered(32)

        self.write_config(name, time_slicing(4), replicas="replicsa")
        until(lambda: "replicsa" in self.agent_log(), "the agent's complaint", 60)
        self.assertEqual(self.offered(), (32, 32))
        self.assert_a_pod_gets_a_gpu("while-broken")

        self.write_config(name, time_slicing(3))
        self.until_offered(24)
        self.assertEqual(self.look_again("runs").reachable_minors(), running.reachable_minors())
        after, = self.agent_pods()
        self.assertEqual(after["metadata"]["uid"], agent["metadata"]["uid"])
        self.assertEqual(after["status"]["containerStatuses"][0]["restartCount"], 0)

    def write_config(self, name, config, **misspelt):
        text = json.dumps(config, indent=1)
        for word, by in misspelt.items():
            text = text.replace(word, by)
        self.cluster.api.merge(f"{CONFIG_MAPS}/{name}", {"data": {"default": text}})


class ByManifest(Installed):
    """On nodes whose default runtime is NVIDIA's, as the manifests say."""
    default_runtime = "nvidia"

    def apply(self, path, **replaced):
        text = path.read_text()
        for word, by in replaced.items():
            text = text.replace(word, by)
        self.cluster.checked("kubectl", "apply", "-f", "-", input=text)

    def test_the_plain_manifest_applies_as_it_is(self):
        self.apply(DEPLOY / "manifests/tranche-device-plugin.yml")
        self.until_offered(8)
        self.assert_a_pod_gets_a_gpu()

    def test_the_manifest_with_time_slicing_applies_as_it_is(self):
        self.apply(DEPLOY / "manifests/tranche-device-plugin-time-slicing.yml")
        self.until_offered(32)
        self.assert_a_pod_gets_a_gpu()

    def test_the_manifest_for_hosts_of_nested_clusters_applies_as_it_is(self):
        self.apply(DEPLOY / "manifests/tranche-device-plugin-nested-host.yml")
        self.until_offered(8)
        view = self.run_under_nvidia("node", 2, look='echo "told env $(cat /gpu.env)"')
        self.assertEqual(view.told["env"], view.env["NVIDIA_ALLOCATED_DEVICES"])
        self.assertEqual(len(view.told["env"].split(",")), 2)
        # NVIDIA's runtime follows the variable for all, and takes it out.
        self.assertEqual(len(view.reachable_minors()), 8)

    def test_the_examples_run_on_it(self):
        """As they are, but for what is in their images."""
        self.taint()
        self.apply(DEPLOY / "manifests/tranche-device-plugin-time-slicing.yml")
        self.until_offered(32)
        for example in sorted((DEPLOY / "examples").glob("*.yml")):
            text = IMAGE_LINE.sub(rf"\1image: {BUSYBOX_IMAGE}", example.read_text())
            text = text.replace("[nvidia-smi, topo, -m]", '["true"]')
            self.cluster.checked("kubectl", "apply", "-f", "-", input=text)
            self.addCleanup(self.cluster.inside, "kubectl", "delete", "-f", "-", input=text)
        until(lambda: self.ended_well() == 6, "the end of two pods and a job of four", 60)

    def ended_well(self):
        return sum(pod["status"].get("phase") == "Succeeded" for pod in self.cluster.api.get(PODS)["items"])

    def test_nvidias_static_manifest_works_with_only_the_image_changed(self):
        self.apply(MANIFESTS / "nvidia-static.yml", IMAGE="localhost/tranche-device-plugin:0.1.0")
        self.until_offered(8)
        self.assert_a_pod_gets_a_gpu()
