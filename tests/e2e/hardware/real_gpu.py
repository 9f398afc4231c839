# SPDX-License-Identifier: Apache-2.0
"""What stories on a real GPU have: its driver, and pods that compute.

The agent does not name GPUs in a variable for a runtime of NVIDIA's: there is
none to read it. What a container gets, it gets from the kubelet and containerd.
"""
import os
import pathlib
import re
import shutil
import subprocess

from cluster import images
from cluster.layout import COMPUTE_IMAGE

from stories.agent import Agent
from stories.story import AGENT, GPU, Story

DRIVER_FILES = ("libcuda.so*", "libnvidia-*.so*")
COMPUTES = "computed on NVIDIA"


class RealGpuStory(Story):
    more_programs = ("nvidia",)

    def setUp(self):
        super().setUp()
        # The agent finds the driver as on any node; the machine's nodes are put into the node's /dev.
        for node in pathlib.Path("/dev").glob("nvidia*"):
            if node.is_char_device() and not self.cluster.path(node).exists():
                number = node.stat().st_rdev
                self.cluster.checked("mknod", "-m", "666", node, "c", os.major(number), os.minor(number))
        self.compute_archive = self.cluster.layout.state / "compute.tar"
        images.make_compute(self.compute_archive, self.cluster.programs["pods"])
        self.cluster.import_image(self.compute_archive)
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
        self.uuids = re.findall(r"^GPU .*UUID: (GPU-[^)]+)", listed, re.MULTILINE)
        self.count = len(self.uuids)

    def agent_on(self, cluster, *flags):
        agent = Agent(cluster, AGENT, flags, node_flags=["--driver-root-ctr-path=/"])
        self.plugins.append(agent)
        return agent.start()

    def start_agent(self, *flags):
        agent = self.agent(*flags)
        self.until_offered(self.count)
        return agent

    def by_cdi(self):
        """Flags, for a node without NVIDIA's runtime."""
        return "--device-list-strategy=cdi-cri", f"--nvidia-cdi-hook-path={self.hook()}"

    def hook(self):
        return f"{self.cluster.programs['nvidia']}/nvidia-cdi-hook"

    def pod_that_computes(self, name, count=1, resource=GPU, env=None, on=None):
        """Its view, with what the program said. `on`: another cluster than the story's own."""
        on = on or self
        variables = [{"name": key, "value": value} for key, value in (env or {}).items()]
        on.create(on.pod(name, count, resource, look="echo told result $(compute)",
                         container={"image": COMPUTE_IMAGE, "env": variables}))
        return on.view(name)

    def assert_has_no_gpu(self, view):
        self.assertEqual(view.nodes, {})
        # It may make a node itself, but the device cgroup keeps it closed.
        self.assertEqual(view.reachable_minors(), [])
        self.assertEqual(view.made[255], "denied")

    def driver_place(self):
        """Where the machine has the driver's libraries."""
        known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        return pathlib.Path(re.search(r"libcuda\.so\.1 .*=> (/\S+)", known)[1]).parent

    def driver_folder(self):
        """Only the driver's files, as hosts without NVIDIA's runtime have them in a folder."""
        folder = self.cluster.layout.state / "driver"
        if not folder.exists():
            (folder / "lib64").mkdir(parents=True)
            for pattern in DRIVER_FILES:
                for file in self.driver_place().glob(pattern):
                    shutil.copy2(file, folder / "lib64", follow_symlinks=False)
        return folder
