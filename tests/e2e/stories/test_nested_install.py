# SPDX-License-Identifier: Apache-2.0
"""Nested clusters as people install them: the chart in either cluster, agents in pods."""
from .gpus import DRIVER_ROOT
from .nested import NestedStory
from .test_install import ARCHIVE, DEPLOY
from .under_test import only_ours


@only_ours("knows no nested clusters")
class NestedByHelm(NestedStory):
    more_programs = ("nvidia", "helm")

    def install(self, cluster, profile):
        cluster.import_image(ARCHIVE)
        folder = cluster.layout.state / "helm"
        environment = [f"HELM_{name}_HOME={folder}" for name in ("CACHE", "CONFIG", "DATA")]
        values = ["passDeviceSpecs=true", 'healthCheckInterval="500ms"', f'nvidiaDriverRoot="{DRIVER_ROOT}"',
                  'hostRoot="/driver-root"', f'profile="{profile}"']
        helm = ["env", *environment, "helm", "--namespace=kube-system"]
        cluster.checked(*helm, "install", "tranche", DEPLOY / "helm",
                        *(word for value in values for word in ("--set-json", value)))
        return lambda: cluster.checked(*helm, "uninstall", "tranche", "--wait")

    def test_both_agents_in_pods_by_the_chart(self):
        gpus = self.gpus("dgx-a100")
        self.addCleanup(self.install(self.cluster, "nested-host"))
        self.until_offered(8)
        inner = self.start_node_pod("tenant", gpus=3)
        granted = inner.environment()["NVIDIA_ALLOCATED_DEVICES"].split(",")
        self.install(inner.cluster, "nested-guest")
        inner.until_offered(3)
        self.assertIn(inner.run_pod("one", 1).visible()[0], granted)
        gpus.fault("lose", "--gpu", granted[1])
        inner.until_offered(2, capacity=3)
        gpus.fault("come-back", "--gpu", granted[1])
        inner.until_offered(3)

        # The same host's agent after an update: what it handed off is still its own to keep.
        pods = "/api/v1/namespaces/kube-system/pods"
        self.cluster.api.text("DELETE", pods, {"gracePeriodSeconds": 1})
        gpus.fault("lose", "--gpu", granted[2])
        inner.until_offered(2, capacity=3)
        gpus.fault("come-back", "--gpu", granted[2])
        inner.until_offered(3)
