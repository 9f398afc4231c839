# SPDX-License-Identifier: Apache-2.0
"""Time slicing: GPUs that are offered several times, by a configuration file."""
import collections
import json

from .configurations import time_slicing
from .pods import pod
from .story import GPU, Story
from .under_test import only_ours

SLICE = "nvidia.com/gpu-slice"
BY_NAME = "ignores `rename` and `devices` of a time-slicing resource, by design, and warns of it"


class Replicas(Story):
    def shared_agent(self, *flags, fail_above_one=False, name=GPU, **row):
        """An agent whose configuration has one row of time slicing."""
        file = self.cluster.layout.state / "agent-config.yaml"
        file.write_text(json.dumps(time_slicing(failRequestsGreaterThanOne=fail_above_one,
                                                resources=[{"name": name, **row}])))
        self.addCleanup(file.unlink)
        return self.agent("--pass-device-specs", f"--config-file={file}", *flags)

    def pods_on_each_gpu(self, pods, resource=GPU):
        """How many of so many pods, created one after the other, are on each GPU, by minor."""
        on = collections.Counter()
        for number in range(pods):
            reached = self.run_pod(f"pod-{number}", 1, resource).reachable_minors()
            self.assertEqual(len(reached), 1)
            on[reached[0]] += 1
        return on

    def test_pods_share_a_gpu_and_its_uuid(self):
        gpus = self.gpus("t4-single")
        self.shared_agent(replicas=3)
        self.until_offered(3)
        for view in [self.run_pod(f"pod-{number}", 1) for number in range(3)]:
            self.assertEqual(view.visible(), gpus.uuids())
            self.assertEqual(view.reachable_minors(), [0])

    def test_a_fourth_pod_waits_for_one_of_three_replicas(self):
        self.gpus("t4-single")
        self.shared_agent(replicas=3)
        self.until_offered(3)
        for number in range(3):
            self.run_pod(f"pod-{number}", 1)
        self.create(pod("late", {GPU: 1}))
        self.until_unschedulable("late", f"Insufficient {GPU}")
        self.delete_pod("pod-1")
        self.assertEqual(self.view("late").reachable_minors(), [0])

    def test_distributed_spreads_pods_over_the_gpus(self):
        self.gpus("t4-quad")
        self.shared_agent(replicas=4)
        self.until_offered(16)
        self.assertEqual(sorted(self.pods_on_each_gpu(6).values()), [1, 1, 2, 2])

    def test_distributed_takes_the_gpu_that_became_empty(self):
        self.gpus("t4-quad")
        self.shared_agent(replicas=4)
        self.until_offered(16)
        views = [self.run_pod(f"pod-{number}", 1) for number in range(6)]
        emptied = views[0].reachable_minors()
        for number, view in enumerate(views):
            if view.reachable_minors() == emptied:
                self.delete_pod(f"pod-{number}")
        self.assertEqual(self.run_pod("again", 1).reachable_minors(), emptied)

    def test_packed_fills_one_gpu_before_the_next(self):
        self.gpus("t4-quad")
        self.shared_agent("--shared-devices-allocation-policy=packed", replicas=4)
        self.until_offered(16)
        on = self.pods_on_each_gpu(6)
        self.assertEqual(sorted(on.values()), [2, 4])

    def test_two_replicas_for_one_pod_lie_on_two_gpus(self):
        self.gpus("t4-quad")
        self.shared_agent(replicas=4)
        self.until_offered(16)
        self.assertEqual(len(self.run_pod("two", 2).reachable_minors()), 2)

    @only_ours(BY_NAME)
    def test_a_renamed_resource_leaves_the_other_gpus_whole(self):
        gpus = self.gpus("t4-quad")
        self.shared_agent(replicas=5, rename=SLICE, devices=[1, gpus.uuids()[3]])
        self.until_offered(2)
        self.until_offered(10, SLICE)
        self.assertEqual(self.run_pod("whole", 2).reachable_minors(), [0, 2])
        self.assertEqual(self.pods_on_each_gpu(4, SLICE), {1: 2, 3: 2})

    @only_ours(BY_NAME)
    def test_a_pod_with_a_whole_gpu_and_a_slice_reaches_both(self):
        self.gpus("t4-quad")
        self.shared_agent(replicas=5, rename=SLICE, devices=[1])
        self.until_offered(3)
        self.until_offered(5, SLICE)
        self.create(pod("both", {GPU: 1, SLICE: 1}))
        view = self.view("both")
        reached = view.reachable_minors()
        self.assertEqual((len(reached), 1 in reached), (2, True))
        # The kubelet takes the variable of one resource and drops the other's.
        self.assertEqual(len(view.visible()), 1)

    def test_two_replicas_for_one_pod_are_refused_where_that_is_asked_for(self):
        self.gpus("t4-quad")
        self.shared_agent(fail_above_one=True, replicas=4)
        self.until_offered(16)
        self.create(pod("two", {GPU: 2}))
        status = self.until_phase("two", "Failed")["status"]
        self.assertEqual(status["reason"], "UnexpectedAdmissionError")
        self.assertIn("maximum request size for shared resources is 1; found 2", status["message"])
        # And nothing is lost by it.
        views = [self.run_pod(f"pod-{number}", 1) for number in range(4)]
        self.assertEqual(sorted(view.reachable_minors()[0] for view in views), [0, 1, 2, 3])

    def test_pods_share_mig_devices_too(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.shared_agent("--mig-strategy=mixed", name="nvidia.com/mig-2g.10gb", replicas=2)
        self.until_offered(4, "nvidia.com/mig-2g.10gb")
        views = [self.run_pod(f"pod-{number}", 1, "nvidia.com/mig-2g.10gb") for number in range(4)]
        seen = collections.Counter(view.visible()[0] for view in views)
        self.assertEqual(seen, {device.uuid: 2 for device in gpus.mig_devices() if device.profile == "2g.10gb"})
