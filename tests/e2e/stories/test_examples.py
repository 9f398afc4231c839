# SPDX-License-Identifier: Apache-2.0
"""deploy/examples, with the commands of its README and as the files are, but for what is in their images."""
import pathlib
import shutil

from cluster.api import ApiError
from cluster.cluster import until
from cluster.layout import BUSYBOX_IMAGE

from .gpus import DRIVER_ROOT
from .story import BUILD, GPU
from .story_sets import extended
from .test_install import DEPLOY, IMAGE_LINE, TOLERATION, Installed
from .test_policies import WORLDS

EXAMPLES = DEPLOY / "examples"
USERS = [f"user-{number}" for number in range(1, 9)]
SHARE = "nvidia.com/gpu-quarter"
# What the driver's programs need to run below a root of their own.
LOADER = "lib64/ld-linux-x86-64.so.2"
LIBRARIES = ("libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6")


class Example(Installed):
    def install_example(self, name, *settings):
        values = [word for setting in settings for word in ("--set-json", setting)]
        self.helm("install", "tranche", DEPLOY / "helm", "--values", EXAMPLES / name / "values.yaml", *values)

    def apply_example(self, file, namespace="default"):
        text = IMAGE_LINE.sub(rf"\1image: {BUSYBOX_IMAGE}", (EXAMPLES / file).read_text())
        text = text.replace("[nvidia-smi, -L]", '[sh, -c, "env; ls /dev"]')
        self.cluster.checked("kubectl", "apply", f"--namespace={namespace}", "-f", "-", input=text)

    def log(self, name, namespace="default"):
        return self.cluster.inside("kubectl", "logs", f"--namespace={namespace}", name).stdout


class EightUsers(Example):
    def gpus_with_mps(self):
        """Two GPUs, and stand-ins of the driver's MPS programs in the driver root."""
        root = self.gpus(WORLDS / "two-gpus.yaml").root
        for name in ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"):
            self.put(BUILD / "testbed/mps/mps-control-standin", root / "usr/bin" / name)
        for place in root.rglob("libcuda.so.1"):
            self.put(BUILD / "testbed/mps/libmps-libcuda-standin.so", place)
            for name in LIBRARIES:
                self.put(pathlib.Path("/usr/lib/x86_64-linux-gnu", name), place.parent / name)
        self.put(pathlib.Path("/", LOADER), root / LOADER)

    @staticmethod
    def put(source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source.resolve(), target)
        target.chmod(0o755)

    def remove_what_was_installed(self):
        if not self.has_failed():
            self.cluster.inside("kubectl", "delete", "namespaces", *USERS, "--ignore-not-found", "--wait")
        super().remove_what_was_installed()

    @extended
    def test_eight_users_have_a_quarter_of_a_gpus_memory_each_and_an_upgrade_ends_none(self):
        self.gpus_with_mps()
        self.install_example("eight-users", f'nvidiaDriverRoot="{DRIVER_ROOT}"', 'hostRoot="/driver-root"')
        self.until_offered(8, SHARE)
        for user in USERS:
            self.cluster.checked("kubectl", "create", "namespace", user)
            self.apply_example("eight-users/user.yml", user)
        for user in USERS:
            until(lambda: self.log("session", user), f"the words of {user}", 60)
            self.assertRegex(self.log("session", user), r"^5\d\d\d MiB, held by mps\n$")

        # The ninth waits; who has one gets no second; and nobody is root.
        self.create(self.pod("ninth", 1, SHARE, tolerations=[TOLERATION],
                             container={"securityContext": {"runAsUser": 7, "allowPrivilegeEscalation": False}}))
        self.until_unschedulable("ninth", f"Insufficient {SHARE}")
        self.assertIn("exceeded quota", self.refusal("user-1", {"runAsUser": 7, "allowPrivilegeEscalation": False}))
        self.assertIn("may run as root", self.refusal("user-1", {"runAsUser": 0}))

        self.assert_an_upgrade_waits_for_somebody()

    def assert_an_upgrade_waits_for_somebody(self):
        """The end of the agent's pod would be the end of the daemons, and so of the sessions."""
        path = "/apis/apps/v1/namespaces/kube-system/daemonsets/tranche-tranche-device-plugin"
        before, = self.agent_pods()
        self.helm("upgrade", "tranche", DEPLOY / "helm", "--reuse-values", "--set-json", 'podAnnotations={"a": "b"}')
        def seen():
            found = self.cluster.api.get(path)
            return found if found["status"]["observedGeneration"] == found["metadata"]["generation"] == 2 else None
        status = until(seen, "the upgrade in the DaemonSet's status", 30)["status"]
        self.assertEqual(status.get("updatedNumberScheduled", 0), 0)
        after, = self.agent_pods()
        self.assertEqual((after["metadata"]["uid"], after["status"]["phase"]), (before["metadata"]["uid"], "Running"))
        self.cluster.checked("kubectl", "delete", "pod", "--namespace=kube-system", before["metadata"]["name"], "--wait")
        until(lambda: any(pod["metadata"].get("annotations", {}).get("a") == "b" for pod in self.agent_pods()),
              "the pod of the upgrade", 60)

    def refusal(self, namespace, context):
        manifest = self.pod("second", 1, SHARE, container={"securityContext": context})
        try:
            self.cluster.api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", manifest)
        except ApiError as error:
            return str(error)
        return ""


class OtherExamples(Example):
    """On nodes whose default runtime is NVIDIA's: the pods name none."""
    default_runtime = "nvidia"

    def ended_well(self, *names):
        for name in names:
            self.until_phase(name, "Succeeded")
        return [self.log(name) for name in names]

    @extended
    def test_pods_get_mig_devices_by_size(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.install_example("mig")
        small = [device for device in gpus.mig_devices() if device.profile.startswith("1g.")]
        self.until_offered(len(small), "nvidia.com/mig-small")
        self.apply_example("mig/pods.yml")
        logs = self.ended_well("small-slice", "large-slice")
        self.assertIn("nvidia-caps", logs[0])

    @extended
    def test_one_node_has_several_policies(self):
        self.gpus("t4-quad")
        self.install_example("several-policies")
        self.until_offered(10, "nvidia.com/gpu-notebook")
        self.until_offered(15, "nvidia.com/gpu-memory")
        self.until_offered(2, GPU)
        self.apply_example("several-policies/pods.yml")
        notebook, inference, training = self.ended_well("notebook", "inference", "training")
        self.assertIn("nvidia0\n", notebook)
        self.assertIn("nvidia1\n", inference)
        self.assertIn("TRANCHE_MEMORY_LIMIT_MIB=4096\n", inference)
        self.assertNotIn("TRANCHE_MEMORY_LIMIT_MIB", training)
