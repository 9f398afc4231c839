# SPDX-License-Identifier: Apache-2.0
from cluster.cluster import ClusterError, until

from .story import GPU, Story
from .under_test import needs_kubelet

IN_STATUS = "before, a pod's status does not have the health of its devices"


class Health(Story):
    def start(self):
        gpus = self.gpus("dgx-a100")
        agent = self.agent("--pass-device-specs", "--health-check-interval=500ms")
        self.until_offered(8)
        return gpus, agent

    def health_in_status(self, name):
        """{device id: health} as the pod's status has it."""
        found = {}
        for status in self.get(name)["status"].get("containerStatuses", []):
            for resource in status.get("allocatedResourcesStatus", []):
                self.assertEqual(resource["name"], GPU)
                found.update({r["resourceID"]: r["health"] for r in resource["resources"]})
        return found

    def until_health(self, name, wanted):
        try:
            until(lambda: self.health_in_status(name) == wanted, "", 30)
        except ClusterError:
            told, expected = (" ".join(health.values()) for health in (self.health_in_status(name), wanted))
            self.fail(f"the status of pod {name} says {told} of its GPUs, not {expected}")

    def test_a_gpu_that_fails_is_offered_no_more_until_it_recovers(self):
        gpus, agent = self.start()
        first = self.run_pod("first", 2).visible()

        gpus.fault("lose", "--gpu", first[0])
        self.until_offered(7, capacity=8)
        self.assertEqual(self.phase("first"), "Running")
        if agent.is_ours:
            agent.until_logged(f"device is unhealthy device={first[0]}")

        # Its pod goes, and still nobody gets it.
        self.delete_pod("first")
        self.assertNotIn(first[0], self.run_pod("others", 7).visible())
        self.create(self.pod("waits", 1))
        self.until_unschedulable("waits", f"Insufficient {GPU}")

        gpus.fault("come-back", "--gpu", first[0])
        self.until_offered(8)
        self.assertEqual(self.view("waits").visible(), first[:1])

    @needs_kubelet("1.36", IN_STATUS)
    def test_the_status_of_a_pod_tells_that_its_gpu_has_failed_and_recovered(self):
        gpus, _ = self.start()
        held = self.run_pod("two", 2).visible()
        self.until_health("two", {held[0]: "Healthy", held[1]: "Healthy"})
        gpus.fault("lose", "--gpu", held[0])
        self.until_health("two", {held[0]: "Unhealthy", held[1]: "Healthy"})
        gpus.fault("come-back", "--gpu", held[0])
        self.until_health("two", {held[0]: "Healthy", held[1]: "Healthy"})

    def test_a_driver_that_goes_and_comes_takes_no_pod_with_it(self):
        gpus, _ = self.start()
        before = self.run_pod("goes-on", 1)
        gpus.fault("driver", "unload")
        self.until_offered(0, capacity=8)
        gpus.fault("driver", "load")
        self.until_offered(8)
        self.assertEqual(self.phase("goes-on"), "Running")
        self.assertEqual(self.look_again("goes-on").reachable_minors(), before.reachable_minors())

    @needs_kubelet("1.36", IN_STATUS)
    def test_the_status_of_a_pod_tells_that_the_driver_has_gone_and_come(self):
        gpus, _ = self.start()
        held = self.run_pod("goes-on", 1).visible()[0]
        gpus.fault("driver", "unload")
        self.until_health("goes-on", {held: "Unhealthy"})
        gpus.fault("driver", "load")
        self.until_health("goes-on", {held: "Healthy"})
