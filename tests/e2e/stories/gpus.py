# SPDX-License-Identifier: Apache-2.0
"""Simulated GPUs on the node of a cluster.

The driver's root lies where NVIDIA's GPU operator puts it, /run/nvidia/driver,
with libraries, device nodes and the host's files of such a node below it.
Nobody serves the device nodes: who may open one gets "No such device or
address", who may not is told "Operation not permitted" by the device cgroup.
"""
import dataclasses
import itertools
import re
import subprocess

from cluster.simulated_kernel import DRIVER_ROOT, KERNEL_FOLDERS

numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class MigDevice:
    uuid: str
    profile: str
    gpu: int        # minor of the GPU it is cut from
    index: int      # among the MIG devices of that GPU
    caps: tuple     # minors of its capability nodes

    def nodes(self):
        """Those that are its own."""
        return [f"/dev/nvidia-caps/nvidia-cap{cap}" for cap in self.caps]


class Gpus:
    def __init__(self, cluster, tool, world):
        self.cluster = cluster
        self.tool = tool
        self.root = cluster.layout.state / "gpus" / str(next(numbers))
        self.run("make-root", "--world", world, "--root", self.root)
        self.mount()

    def mount(self, cluster=None):
        """Again after a reboot of the node, or on the node of an inner cluster. In /proc and /sys,
        too: NVIDIA's programs look there only."""
        cluster = cluster or self.cluster
        places = {DRIVER_ROOT: self.root} | {folder: f"{self.root}{folder}" for folder in KERNEL_FOLDERS}
        cluster.checked("mkdir", "-p", DRIVER_ROOT)
        for place, source in places.items():
            cluster.inside("umount", place)
            cluster.checked("mount", "--bind", source, place)

    def run(self, *words):
        done = subprocess.run([self.tool, *map(str, words)], text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"tranche-sim {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def fault(self, *words):
        self.run("fault", "--root", self.root, *words)

    # What the node has, from the world and not from the agent.

    def uuids(self):
        """Of the GPUs, by minor. In our worlds that is their order, too."""
        state = self.run("state", "--root", self.root)
        found = dict(re.findall(r"^    uuid: (\S+)\n    pci: .*\n    minor: (\d+)", state, re.MULTILINE))
        return sorted(found, key=lambda uuid: int(found[uuid]))

    def mig_devices(self):
        instance = re.compile(r' +- \{gi: "?([^",]+)"?, id: (\d+), .* ci: (.*)\}')
        part = re.compile(r"id: (\d+), start: \d+, index: (\d+), uuid: (\S+?)\}")
        minors = (self.root / "proc/driver/nvidia-caps/mig-minors").read_text().splitlines()
        caps = {name: int(minor) for name, minor in map(str.split, minors)}
        found = []
        for line in self.run("state", "--root", self.root).splitlines():
            if match := re.match(r"    minor: (\d+)", line):
                gpu = int(match[1])
            elif match := instance.match(line):
                profile, gi, parts = match.groups()
                for ci, index, uuid in part.findall(parts):
                    paths = (f"gpu{gpu}/gi{gi}/access", f"gpu{gpu}/gi{gi}/ci{ci}/access")
                    found.append(MigDevice(uuid, profile, gpu, int(index), tuple(caps[p] for p in paths)))
        return found

    def major(self, name):
        """Of device nodes, as /proc/devices has it."""
        return int(re.search(rf"^ *(\d+) {name}$", (self.root / "proc/devices").read_text(), re.MULTILINE)[1])
