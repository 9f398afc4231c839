# SPDX-License-Identifier: Apache-2.0
"""Nested clusters as people install them: the chart in either cluster, agents in pods."""
from cluster.cluster import until

from .gpus import DRIVER_ROOT
from .nested import NestedStory
from .story_sets import extended
from .test_install import ARCHIVE, DEPLOY, SYSTEM_PODS
from .under_test import only_ours


@extended
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
        return [*helm, "uninstall", "tranche", "--wait"]

    def agent_pod(self):
        """Its name, once it runs."""
        def running():
            return [pod["metadata"]["name"] for pod in self.cluster.api.get(SYSTEM_PODS)["items"]
                    if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
        return until(running, "the agent's pod", 60)[0]

    def tell_host(self, word):
        """What the inner agent cannot see by itself: the driver is the same for both."""
        # An agent that has just been started may not listen yet.
        until(lambda: self.cluster.inside("kubectl", "exec", "--namespace=kube-system", self.agent_pod(), "--",
                                          "tranche-device-plugin", word).returncode == 0,
              f"an agent that takes '{word}'", 60)

    def test_both_agents_in_pods_by_the_chart(self):
        self.gpus("dgx-a100")
        self.addCleanup(self.unless_failed, *self.install(self.cluster, "nested-host"))
        self.until_offered(8)
        inner = self.start_node_pod("tenant", gpus=3)
        granted = inner.environment()["NVIDIA_ALLOCATED_DEVICES"].split(",")
        self.install(inner.cluster, "nested-guest")
        inner.until_offered(3)
        self.assertIn(inner.run_pod("one", 1).visible()[0], granted)
        self.tell_host("release")
        inner.until_offered(0, capacity=3)
        self.tell_host("resume")
        inner.until_offered(3)

        # The same host's agent after an update: what it handed off is still its own to keep.
        old = self.agent_pod()
        self.cluster.api.text("DELETE", SYSTEM_PODS, {"gracePeriodSeconds": 1})
        until(lambda: self.agent_pod() != old, "the next agent's pod", 60)
        self.until_offered(8)
        self.tell_host("release")
        inner.until_offered(0, capacity=3)
        self.tell_host("resume")
        inner.until_offered(3)
