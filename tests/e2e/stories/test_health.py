# SPDX-License-Identifier: Apache-2.0
from cluster.cluster import until

from .story import GPU, Story


class Health(Story):
    def health_in_status(self, name):
        """{device id: health} as the pod's status has it."""
        found = {}
        for status in self.get(name)["status"].get("containerStatuses", []):
            for resource in status.get("allocatedResourcesStatus", []):
                self.assertEqual(resource["name"], GPU)
                found.update({r["resourceID"]: r["health"] for r in resource["resources"]})
        return found

    def until_health(self, name, wanted):
        until(lambda: self.health_in_status(name) == wanted,
              f"{wanted} in the status of pod {name}", 30)

    def test_a_gpu_that_fails_is_offered_no_more_until_it_recovers(self):
        gpus = self.gpus("dgx-a100")
        agent = self.agent("--pass-device-specs", "--health-check-interval=500ms")
        self.until_offered(8)
        first = self.run_pod("first", 2).env["NVIDIA_VISIBLE_DEVICES"].split(",")
        self.until_health("first", {first[0]: "Healthy", first[1]: "Healthy"})

        gpus.fault("lose", "--gpu", first[0])
        self.until_offered(7, capacity=8)
        self.until_health("first", {first[0]: "Unhealthy", first[1]: "Healthy"})
        self.assertEqual(self.phase("first"), "Running")
        agent.until_logged(f"device is unhealthy device={first[0]}")

        # Its pod goes, and still nobody gets it.
        self.delete_pod("first")
        others = self.run_pod("others", 7).env["NVIDIA_VISIBLE_DEVICES"].split(",")
        self.assertNotIn(first[0], others)
        self.create(self.pod("waits", 1))
        self.until_unschedulable("waits", f"Insufficient {GPU}")

        gpus.fault("come-back", "--gpu", first[0])
        self.until_offered(8)
        self.assertEqual(self.view("waits").env["NVIDIA_VISIBLE_DEVICES"], first[0])
        self.until_health("waits", {first[0]: "Healthy"})

    def test_a_driver_that_goes_and_comes_takes_no_pod_with_it(self):
        gpus = self.gpus("dgx-a100")
        self.agent("--pass-device-specs", "--health-check-interval=500ms")
        self.until_offered(8)
        before = self.run_pod("goes-on", 1)
        gpus.fault("driver", "unload")
        self.until_offered(0, capacity=8)
        self.until_health("goes-on", {before.env["NVIDIA_VISIBLE_DEVICES"]: "Unhealthy"})
        gpus.fault("driver", "load")
        self.until_offered(8)
        self.until_health("goes-on", {before.env["NVIDIA_VISIBLE_DEVICES"]: "Healthy"})
        self.assertEqual(self.look_again("goes-on").reachable_minors(), before.reachable_minors())
