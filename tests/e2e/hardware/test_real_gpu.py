# SPDX-License-Identifier: Apache-2.0
"""On a machine with a real GPU and its driver: pods compute, or cannot.

The agent does not name GPUs in a variable here: there is no runtime of NVIDIA's
to read it. What a container gets, it gets from the kubelet and containerd.
"""
import os
import pathlib
import re
import shutil
import subprocess

from cluster import images
from cluster.cluster import until
from cluster.layout import COMPUTE_IMAGE

from stories.agent import PluginProcess
from stories.story import AGENT, GPU, Story

DRIVER_FILES = ("libcuda.so*", "libnvidia-*.so*")
DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"
COMPUTES = "computed on NVIDIA"


class RealGpu(Story):
    more_programs = ("nvidia",)

    def setUp(self):
        super().setUp()
        # The agent finds the driver as on any node; the machine's nodes are put into the node's /dev.
        for node in pathlib.Path("/dev").glob("nvidia*"):
            if node.is_char_device() and not self.cluster.path(node).exists():
                number = node.stat().st_rdev
                self.cluster.checked("mknod", "-m", "666", node, "c", os.major(number), os.minor(number))
        archive = self.cluster.layout.state / "compute.tar"
        images.make_compute(archive, self.cluster.programs["pods"])
        self.cluster.import_image(archive)
        self.count = len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True,
                                        check=True).stdout.splitlines())

    def start_agent(self, *flags):
        agent = PluginProcess(self.cluster, AGENT, ["--driver-root-ctr-path=/", *flags])
        self.plugins.append(agent)
        agent.start()
        self.until_offered(self.count)
        return agent

    def pod_that_computes(self, name, count=1, env=None):
        """Its view, and what the program said."""
        variables = [{"name": key, "value": value} for key, value in (env or {}).items()]
        self.create(self.pod(name, count, look="echo told result $(compute)",
                             container={"image": COMPUTE_IMAGE, "env": variables}))
        return self.view(name)

    def driver_folder(self):
        """Only the driver's files, as hosts without NVIDIA's runtime have them in a folder."""
        folder = self.cluster.layout.state / "driver"
        if not folder.exists():
            (folder / "lib64").mkdir(parents=True)
            known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
            place = pathlib.Path(re.search(r"libcuda\.so\.1 .*=> (/\S+)", known)[1]).parent
            for pattern in DRIVER_FILES:
                for file in place.glob(pattern):
                    shutil.copy2(file, folder / "lib64", follow_symlinks=False)
        return folder

    def test_a_pod_computes_on_the_gpu_that_it_got_as_device_nodes(self):
        self.start_agent("--device-list-strategy=volume-mounts", "--pass-device-specs",
                         f"--host-path={self.driver_folder()}")
        view = self.pod_that_computes("computes", env={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"})
        self.assertIn(COMPUTES, view.told["result"])
        self.assertFalse(view.env.get("NVIDIA_VISIBLE_DEVICES", "").startswith("GPU-"))

    def test_a_pod_computes_on_the_gpu_that_it_got_by_cdi(self):
        self.start_agent("--device-list-strategy=cdi-cri", f"--nvidia-cdi-hook-path={self.hook()}")
        view = self.pod_that_computes("computes")
        self.assertIn(COMPUTES, view.told["result"])

    def hook(self):
        return f"{self.cluster.programs['nvidia']}/nvidia-cdi-hook"

    def test_a_pod_that_asks_for_none_cannot_open_it(self):
        self.start_agent("--device-list-strategy=cdi-cri", f"--nvidia-cdi-hook-path={self.hook()}")
        view = self.run_pod("without", 0)
        self.assertEqual(view.nodes, {})
        # It may make a node itself, but the device cgroup keeps it closed.
        self.assertEqual(view.reachable_minors(), [])
        self.assertEqual(view.made[255], "denied")

    def test_a_pod_goes_on_computing_when_kubelet_and_agent_were_killed(self):
        agent = self.start_agent("--device-list-strategy=cdi-cri", f"--nvidia-cdi-hook-path={self.hook()}")
        self.pod_that_computes("goes-on")
        self.cluster.kill("kubelet")
        agent.kill()
        agent.start()
        self.cluster.start("kubelet")
        self.until_offered(self.count)
        computed = until(lambda: self.compute_again("goes-on"), "a command in the pod", 60)
        self.assertIn(COMPUTES, computed)
        self.create(self.pod("late", self.count))
        self.until_unschedulable("late", f"Insufficient {GPU}")

    def compute_again(self, name):
        done = self.cluster.inside("kubectl", "exec", name, "--", "compute")
        return done.stdout if done.returncode == 0 else None

    def test_the_agent_in_its_pod_serves_a_node_without_nvidias_runtime(self):
        self.cluster.import_image(DEPLOY.parent / "build/tranche-device-plugin-image.tar")
        # The hook program is not at its usual place here; the rest is as it is.
        manifest = (DEPLOY / "manifests/tranche-device-plugin-cdi.yml").read_text().replace(
            "          env:\n", f"          env:\n            - name: NVIDIA_CDI_HOOK_PATH\n"
                              f"              value: {self.hook()}\n")
        self.cluster.checked("kubectl", "apply", "-f", "-", input=manifest)
        self.addCleanup(self.remove, manifest)
        self.until_offered(self.count)
        self.assertIn(COMPUTES, self.pod_that_computes("computes").told["result"])

    def remove(self, manifest):
        self.cluster.inside("kubectl", "delete", "-f", "-", "--wait", input=manifest)
