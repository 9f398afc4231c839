# SPDX-License-Identifier: Apache-2.0
"""A real GPU, granted to a pod that is itself a node: pods of the cluster inside compute on it, or cannot.

The node pod has the driver's files from the machine, as it has all its programs.
"""
import json

from stories.nested import NestedStory
from stories.story import GPU

from .real_gpu import COMPUTES, RealGpuStory

SHARED = "deepomatic.com/shared-gpu"


class NestedRealGpu(NestedStory, RealGpuStory):
    def start_node_pod_with_a_gpu(self):
        self.start_agent("--profile=nested-host")
        return self.start_node_pod("tenant", gpus=1, folders={self.driver_place(): False})

    def start_guest(self, inner, *flags):
        inner.cluster.import_image(self.compute_archive)
        return inner.agent("--profile=nested-guest", *self.by_cdi(), *flags)

    def test_pods_of_the_cluster_in_a_pod_compute_on_the_gpu_that_it_was_granted(self):
        inner = self.start_node_pod_with_a_gpu()
        granted = inner.environment()["NVIDIA_ALLOCATED_DEVICES"]
        self.assertIn(granted, self.uuids)
        self.assertEqual(inner.cluster.checked("cat", "/gpu.env").strip(), granted)
        grant = json.loads(inner.cluster.checked("cat", "/gpu-grants/nvidia.com_gpu/grant.json"))
        self.assertEqual([device["uuid"] for device in grant["devices"]], [granted])

        guest = self.start_guest(inner)
        inner.until_offered(1)
        self.assertEqual([share["uuid"] for share in guest.resource(GPU)["devices"]], [granted])
        view = self.pod_that_computes("computes", on=inner)
        self.assertIn(COMPUTES, view.told["result"])
        self.assertEqual(view.reachable_minors(), [grant["devices"][0]["minor"]])
        self.assert_has_no_gpu(inner.run_pod("without", 0))
        self.create(self.pod("late", self.count))
        self.until_unschedulable("late", f"Insufficient {GPU}")

    def test_a_node_pod_that_comes_again_has_a_gpu_again_and_its_pods_share_it(self):
        inner = self.start_node_pod_with_a_gpu()
        self.start_guest(inner)
        inner.until_offered(1)
        inner.down()
        inner.up()
        self.start_guest(inner, "--gpu-duplication-factor=2")
        inner.until_offered(2, SHARED)
        for name in ("one", "two"):
            self.assertIn(COMPUTES, self.pod_that_computes(name, resource=SHARED, on=inner).told["result"])
