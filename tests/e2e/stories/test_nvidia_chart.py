# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own chart with only the image changed: its DaemonSets, its sidecars and its rights."""
import json

from cluster.cluster import built_programs, until
from cluster.layout import NODE_NAME

from .configurations import shared_by_mps, time_slicing
from .story import GPU
from .story_sets import extended
from .test_install import CONFIG_MAPS, Installed, documented_settings
from .test_mps import WithMpsPrograms

IMAGE = "localhost/tranche-device-plugin:0.1.0"
CONFIG_LABEL = "nvidia.com/device-plugin.config"
MPS_LABEL = "nvidia.com/mps.capable"
MPS_FOLDER = "/run/nvidia/mps"
TWO_AND_FOUR = {"two": time_slicing(2), "four": time_slicing(4)}
PLUGIN_COMMANDS = {"nvidia-device-plugin-init": ["config-manager"],
                   "nvidia-device-plugin-sidecar": ["config-manager"],
                   "nvidia-device-plugin-ctr": ["nvidia-device-plugin"]}
MPS_COMMANDS = {"mps-control-daemon-mounts": ["mps-control-daemon", "mount-shm"],
                "mps-control-daemon-init": ["config-manager"],
                "mps-control-daemon-sidecar": ["config-manager"],
                "mps-control-daemon-ctr": ["mps-control-daemon"]}


class ByNvidiasChart(Installed):
    tools = ("nvidia-chart",)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.set_label, CONFIG_LABEL, None)

    def remove_what_was_installed(self):
        super().remove_what_was_installed()
        self.unless_failed("sh", "-c", f"umount {MPS_FOLDER}/shm; rm -rf {MPS_FOLDER}")

    def deploy(self, configs, default):
        """The image is set by the command of docs/migrating-from-nvidia.md."""
        config = {"map": {name: json.dumps(content) for name, content in configs.items()}, "default": default}
        self.helm("upgrade", "--install", "nvdp", built_programs(self.tools)["nvidia-chart"],
                  "--set", "runtimeClassName=nvidia", "--set-json", f"config={json.dumps(config)}",
                  *documented_settings("Keep NVIDIA's chart", "helm -n nvidia-device-plugin upgrade nvdp"))

    def set_label(self, name, value):
        """None: removes it."""
        self.cluster.checked("kubectl", "label", "node", NODE_NAME, "--overwrite",
                             f"{name}-" if value is None else f"{name}={value}")

    def choose(self, config):
        self.set_label(CONFIG_LABEL, config)

    def commands(self):
        """By container. All have our image."""
        containers = [container for pod in self.agent_pods()
                      for container in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]]
        self.assertEqual({container["image"] for container in containers}, {IMAGE})
        return {container["name"]: container["command"] for container in containers}

    def running(self):
        """The id of each container, once all run. None has ended before."""
        def statuses():
            pods = self.agent_pods()
            found = [status for pod in pods for status in pod["status"].get("containerStatuses", [])
                     if "running" in status["state"]]
            return found if len(found) == sum(len(pod["spec"]["containers"]) for pod in pods) else None
        found = until(statuses, "all containers of NVIDIA's chart running", 60)
        self.assertEqual({status["name"]: status["restartCount"] for status in found},
                         {status["name"]: 0 for status in found})
        return {status["name"]: status["containerID"] for status in found}

    def until_logged(self, container, *parts):
        """A line with these parts in this order; an init container's too."""
        def logged():
            for pod in self.agent_pods():
                log = self.cluster.inside("kubectl", "logs", "--namespace=kube-system", pod["metadata"]["name"],
                                          "-c", container).stdout
                if any(in_order(line, parts) for line in log.splitlines()):
                    return True
            return False
        until(logged, f"a line with {' … '.join(parts)} of {container}", 60)


def in_order(line, parts):
    for part in parts:
        _, found, line = line.partition(part)
        if not found:
            return False
    return True


@extended
class NvidiaChart(ByNvidiasChart):
    def test_the_nodes_label_switches_the_configuration_and_no_container_restarts(self):
        self.deploy(TWO_AND_FOUR, default="two")
        self.until_offered(16)
        self.assertEqual(self.commands(), PLUGIN_COMMANDS)
        before = self.running()
        view = self.run_under_nvidia("runs")

        self.choose("four")
        self.until_offered(32)
        self.until_logged("nvidia-device-plugin-sidecar", "configuration linked", "configuration=four",
                          f"label {CONFIG_LABEL}=four")
        self.until_logged("nvidia-device-plugin-sidecar", "signal sent", "process=nvidia-device-plugin")

        self.choose(None)
        self.until_offered(16)
        self.until_logged("nvidia-device-plugin-sidecar", "configuration linked", "configuration=two",
                          "--default-config")
        self.assertEqual(self.look_again("runs").reachable_minors(), view.reachable_minors())
        self.assertEqual(self.running(), before)

    def test_a_label_that_names_no_configuration_is_refused_until_there_is_one(self):
        """By the init container, and by the sidecar. NVIDIA's end, and are started again and again."""
        self.choose("six")
        self.deploy(TWO_AND_FOUR, default="two")
        reason = f"label {CONFIG_LABEL}=six", "there is no configuration 'six'; /available-configs has four, two"
        self.until_logged("nvidia-device-plugin-init", "no configuration can be linked; waiting for one", *reason)
        self.choose("four")
        self.until_offered(32)
        before = self.running()

        self.choose("six")
        self.until_logged("nvidia-device-plugin-sidecar", "configuration refused; the one before stays linked", *reason)
        self.assertEqual(self.offered(), (32, 32))
        self.cluster.api.merge(f"{CONFIG_MAPS}/nvdp-nvidia-device-plugin-configs",
                               {"data": {"six": json.dumps(time_slicing(6))}})
        self.until_offered(48)
        self.assertEqual(self.running(), before)


@extended
class NvidiaChartWithMps(ByNvidiasChart, WithMpsPrograms):
    def setUp(self):
        super().setUp()
        self.gpus_with_mps()
        self.set_label(MPS_LABEL, "true")
        self.addCleanup(self.set_label, MPS_LABEL, None)

    def test_the_label_starts_and_stops_mps_in_the_plugin_and_in_the_charts_daemon(self):
        self.deploy({"two": time_slicing(2), "mps": shared_by_mps(3)}, default="two")
        self.until_offered(8)
        until(lambda: len(self.agent_pods()) == 2, "the pods of both DaemonSets", 30)
        self.assertEqual(self.commands(), PLUGIN_COMMANDS | MPS_COMMANDS)
        before = self.running()

        self.choose("mps")
        self.until_offered(12)
        view = self.run_under_nvidia("one", look='echo told pipe $(ls $CUDA_MPS_PIPE_DIRECTORY)')
        self.assertEqual(view.env["CUDA_MPS_PIPE_DIRECTORY"], f"/mps/{GPU}/pipe")
        self.assertIn("control", view.told["pipe"].split())
        ready = self.cluster.path(f"{MPS_FOLDER}/.ready")
        self.assertTrue(ready.exists())

        self.choose(None)
        self.until_offered(8)
        until(lambda: not ready.exists(), "the end of the MPS daemon", 60)
        self.assertEqual(self.running(), before)
