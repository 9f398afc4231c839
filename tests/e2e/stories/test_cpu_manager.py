# SPDX-License-Identifier: Apache-2.0
"""The kubelet's static CPU manager, which writes to the cgroups of running containers.

It is why --pass-device-specs exists: runtimes were seen to close devices by such
a write that the kubelet did not know of. The runc here leaves devices alone.
"""
import os

from cluster import cgroups
from cluster.cluster import until

from .pods import pod
from .story import GPU, Story

GUARANTEED = {"cpu": "1", "memory": "64Mi"}
CPUS = sorted(os.sched_getaffinity(0))


def cpu_list(text):
    """Of "0-2,5"."""
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class CpuManager(Story):
    # All but the first CPU can be had exclusively, and changes reach containers soon.
    kubelet_changes = {"cpuManagerPolicy": "static", "reservedSystemCPUs": str(CPUS[0]),
                       "cpuManagerReconcilePeriod": "1s"}

    def setUp(self):
        if len(CPUS) < 2:
            self.skipTest("an exclusive CPU needs a machine with two")
        super().setUp()

    def cpu_file(self, name):
        """Of the pod's container, in its cgroup."""
        identity = self.get(name)["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
        files = [file for folder in cgroups.folders(self.cluster.layout.cgroup)
                 for file in folder.glob(f"**/{identity}/cpuset.cpus")]
        self.assertEqual(len(files), 1)
        return files[0]

    def until_cpus(self, name, cpus):
        file = self.cpu_file(name)
        until(lambda: cpu_list(file.read_text()) == cpus, f"pod {name} on CPUs {cpus}", 30)

    def create_exclusive(self, name, gpus):
        self.create(pod(name, {**GUARANTEED, GPU: gpus}))

    def assert_it_keeps_its_gpus_when_a_cpu_is_taken(self, name, before):
        self.create_exclusive("exclusive", 1)
        taken = cpu_list(self.view("exclusive").cpus)
        self.until_cpus(name, set(CPUS) - taken)
        after = self.look_again(name)
        self.assertEqual((after.nodes, after.made), (before.nodes, before.made))
        self.assertEqual(len(after.reachable_minors()), 2)

    def test_a_guaranteed_pod_keeps_its_cpu_and_its_gpu(self):
        self.gpus("t4-quad")
        self.agent("--pass-device-specs")
        self.until_offered(4)
        self.create_exclusive("exclusive", 2)
        before = self.view("exclusive")
        own = cpu_list(before.cpus)
        self.assertEqual((len(own), len(before.reachable_minors())), (1, 2))
        # A kubelet that starts writes to all containers anew. Something else is written
        # behind its back, so that this can be seen.
        self.cpu_file("exclusive").write_text(str(CPUS[0]))
        self.assertNotIn(CPUS[0], own)
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")
        self.until_cpus("exclusive", own)
        after = self.look_again("exclusive")
        self.assertEqual((after.cpus, after.nodes, after.made), (before.cpus, before.nodes, before.made))

    def test_a_pod_whose_cpus_are_taken_away_keeps_its_gpu(self):
        self.gpus("t4-quad")
        self.agent("--pass-device-specs")
        self.until_offered(4)
        before = self.run_pod("shared", 2)
        self.assertEqual(cpu_list(before.cpus), set(CPUS))
        self.assert_it_keeps_its_gpus_when_a_cpu_is_taken("shared", before)
        # And back again.
        self.delete_pod("exclusive")
        self.until_cpus("shared", set(CPUS))
        self.assertEqual(self.look_again("shared").nodes, before.nodes)

    def test_a_pod_with_a_gpu_by_cdi_keeps_it_too(self):
        self.gpus("t4-quad")
        self.agent("--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all")
        self.until_offered(4)
        self.assert_it_keeps_its_gpus_when_a_cpu_is_taken("shared", self.run_pod("shared", 2))
