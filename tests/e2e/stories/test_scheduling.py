# SPDX-License-Identifier: Apache-2.0
"""More is asked for than there is."""
from .pods import pod
from .story import GPU, Story


class Scheduling(Story):
    def test_a_pod_waits_for_gpus_and_runs_on_those_that_became_free(self):
        self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        self.run_pod("most", 5)
        freed = self.run_pod("short", 2).reachable_minors()
        last = self.run_pod("last", 1).reachable_minors()
        self.create(pod("late", {GPU: 2}))
        self.until_unschedulable("late", f"Insufficient {GPU}")
        self.delete_pod("short")
        self.assertEqual(self.view("late").reachable_minors(), freed)
        self.assertEqual(self.look_again("last").reachable_minors(), last)

    def test_a_pod_that_has_ended_frees_its_gpus_though_it_is_still_listed(self):
        self.gpus("t4-single")
        self.agent("--pass-device-specs")
        self.until_offered(1)
        self.run_pod("short", 1, stays=False)
        self.until_phase("short", "Succeeded")
        self.assertEqual(self.run_pod("next", 1).reachable_minors(), [0])
        self.assertEqual(self.phase("short"), "Succeeded")

    def test_a_request_for_more_than_the_node_has_waits_and_hinders_nobody(self):
        self.gpus("t4-quad")
        self.agent("--pass-device-specs")
        self.until_offered(4)
        self.create(pod("greedy", {GPU: 5}))
        self.until_unschedulable("greedy", f"Insufficient {GPU}")
        self.assertEqual(self.run_pod("modest", 4).reachable_minors(), [0, 1, 2, 3])
        self.assertEqual(self.phase("greedy"), "Pending")

    def test_what_is_not_offered_makes_a_pod_wait_until_it_is(self):
        self.gpus("t4-quad")
        self.create(pod("early", {GPU: 1}))
        self.until_unschedulable("early", f"Insufficient {GPU}")
        self.agent("--pass-device-specs")
        self.assertEqual(len(self.view("early").reachable_minors()), 1)
