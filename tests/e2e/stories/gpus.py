# SPDX-License-Identifier: Apache-2.0
"""Simulated GPUs on the node of a cluster.

The driver's root lies where NVIDIA's GPU operator puts it, /run/nvidia/driver,
with libraries, device nodes and the host's files of such a node below it.
Nobody serves the device nodes: who may open one gets "No such device or
address", who may not is told "Operation not permitted" by the device cgroup.
"""
import itertools
import subprocess

DRIVER_ROOT = "/run/nvidia/driver"
numbers = itertools.count()


class Gpus:
    def __init__(self, cluster, tool, world):
        self.cluster = cluster
        self.tool = tool
        self.root = cluster.layout.state / "gpus" / str(next(numbers))
        self.run("make-root", "--world", world, "--root", self.root)
        self.mount()

    def mount(self):
        """Again after a reboot of the node."""
        inside = self.cluster.checked
        inside("mkdir", "-p", DRIVER_ROOT)
        self.cluster.inside("umount", DRIVER_ROOT)
        inside("mount", "--bind", self.root, DRIVER_ROOT)

    def run(self, *words):
        done = subprocess.run([self.tool, *map(str, words)], text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"tranche-sim {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def fault(self, *words):
        self.run("fault", "--root", self.root, *words)
