# SPDX-License-Identifier: Apache-2.0
"""tranche.policies: every GPU in its own way, several names over one GPU, and one ledger for all of them."""
import json
import pathlib

from cluster.cluster import until

from .pods import container, pod, pod_of
from .story import GPU, Story
from .story_sets import extended
from .under_test import only_ours

MEMORY = "aliyun.com/gpu-mem"
SHARED = "deepomatic.com/shared-gpu"
WORLDS = pathlib.Path(__file__).resolve().parents[1] / "worlds"
ONE_FORM = "has one form of sharing for all GPUs of a node, and none by memory"


def memory(unit="1GiB", **row):
    return {"resource": MEMORY, "share": "memory", "unit": unit, **row}


def replicas(count, **row):
    return {"resource": SHARED, "share": "replicas", "replicas": count, **row}


def whole(**row):
    return {"resource": GPU, "share": "whole", **row}


class Policies(Story):
    def policy_agent(self, *rows, flags=(), **sections):
        file = self.cluster.layout.state / "agent-config.yaml"
        file.write_text(json.dumps({"version": "v1", "tranche": {"policies": rows}, **sections}))
        self.addCleanup(file.unlink, missing_ok=True)
        return self.agent("--pass-device-specs", f"--config-file={file}", *flags)

    def refusal(self, name):
        """Why the kubelet turned the pod away."""
        failed = self.until_phase(name, "Failed")["status"]
        self.assertEqual(failed["reason"], "UnexpectedAdmissionError", failed)
        return failed["message"]

    def until_free(self, agent, resource, free):
        """As the agent's own ledger has it."""
        until(lambda: agent.resource(resource)["free"] == free, f"{free} of {resource} free", 30)


@only_ours(ONE_FORM)
class EachGpuInItsOwnWay(Policies):
    def test_whole_replicas_memory_and_slices_on_one_node(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.policy_agent(replicas(10, devices=[1]), memory(devices=[2]),
                          {"resource": "example.com/slice", "share": "replicas", "replicas": 2, "migProfile": "2g.10gb"},
                          flags=["--mig-strategy=mixed"])
        slices = [device for device in gpus.mig_devices() if device.profile == "2g.10gb"]
        self.until_offered(10, SHARED)
        self.until_offered(40, MEMORY)
        self.until_offered(2 * len(slices), "example.com/slice")
        self.assertEqual(self.run_pod("two", 1, SHARED).reachable_minors(), [1])
        self.assertEqual(self.run_pod("three", 8, MEMORY).reachable_minors(), [2])
        view = self.run_pod("slice", 1, "example.com/slice")
        self.assertEqual(len([device for device in slices if set(device.nodes()) <= set(view.opens())]), 1, view)
        self.assertNotIn(self.run_pod("whole", 1).reachable_minors()[0], (1, 2))

    def test_shares_of_one_container_come_from_different_gpus(self):
        self.gpus("t4-quad")
        self.policy_agent(replicas(10))
        self.until_offered(40, SHARED)
        self.run_pod("first", 1, SHARED)
        self.assertEqual(self.run_pod("all", 4, SHARED).reachable_minors(), [0, 1, 2, 3])

    def test_packed_shares_of_one_container_come_from_one_gpu(self):
        self.gpus("t4-quad")
        self.policy_agent(replicas(10, placement="pack"))
        self.until_offered(40, SHARED)
        first = self.run_pod("first", 1, SHARED).reachable_minors()
        self.assertEqual(self.run_pod("nine", 9, SHARED).reachable_minors(), first)

    def test_more_shares_than_gpus_are_refused_where_different_ones_are_demanded(self):
        self.gpus("t4-quad")
        self.policy_agent(replicas(10, distinctGpus=True))
        self.until_offered(40, SHARED)
        self.create(self.pod("five", 5, SHARED))
        self.assertIn("on different GPUs", self.refusal("five"))
        self.assertEqual(self.run_pod("four", 4, SHARED).reachable_minors(), [0, 1, 2, 3])


@only_ours(ONE_FORM)
class Memory(Policies):
    def hundred_pods(self):
        """Of one unit each, all at once."""
        for number in range(100):
            self.create(self.pod(f"small-{number}", 1, MEMORY))
        for number in range(100):
            self.until_phase(f"small-{number}", "Running")

    @extended
    def test_small_pods_are_packed_over_gpus_of_two_sizes_until_the_last_is_refused(self):
        """The small GPU has 60 units of 256 MiB, the large one 89."""
        self.gpus(WORLDS / "two-sizes.yaml")
        agent = self.policy_agent(memory("256MiB"))
        self.until_offered(60 + 89, MEMORY)
        self.hundred_pods()
        on_small = [f"small-{n}" for n in range(100) if self.view(f"small-{n}").reachable_minors() == [0]]
        self.assertEqual(len(on_small), 60, "the small GPU is filled first")
        self.delete_pod(on_small[0])
        self.run_pod("large", 48, MEMORY)
        self.until_free(agent, MEMORY, 2)
        self.create(self.pod("last", 2, MEMORY))
        self.assertIn("GPU 0: 1 of 60, GPU 1: 1 of 89", self.refusal("last"))
        self.assertEqual(agent.resource(MEMORY)["kubelet"]["allocationsRefused"], 1)

    @extended
    def test_under_largest_block_the_last_of_a_hundred_pods_waits(self):
        self.gpus(WORLDS / "two-sizes.yaml")
        self.policy_agent(memory("256MiB", offer="largest-block"))
        self.until_offered(89, MEMORY, capacity=60 + 89)
        self.hundred_pods()  # 49 units are free then, on both
        self.create(self.pod("last", 30, MEMORY))
        self.until_unschedulable("last", f"Insufficient {MEMORY}")

    def test_a_pod_that_fits_the_sum_and_no_gpu_is_refused_with_what_is_free_where(self):
        self.gpus("t4-quad")
        agent = self.policy_agent(memory())
        self.until_offered(4 * 15, MEMORY)
        for number in range(4):
            self.run_pod(f"pod-{number}", 8, MEMORY)  # best fit cannot put two of them on one
        self.until_free(agent, MEMORY, 4 * 7)
        self.create(self.pod("large", 8, MEMORY))
        self.assertIn("GPU 0: 7 of 15, GPU 1: 7 of 15, GPU 2: 7 of 15, GPU 3: 7 of 15", self.refusal("large"))
        self.delete_pod("large")
        self.create(self.pod("large", 8, MEMORY))
        self.refusal("large")
        self.assertEqual(agent.log().count("allocation refused"), 1, "said once")
        self.assertEqual(agent.resource(MEMORY)["kubelet"]["allocationsRefused"], 2)

    def test_under_largest_block_such_a_pod_waits_and_runs_when_there_is_room(self):
        self.gpus("t4-quad")
        self.policy_agent(memory(offer="largest-block"))
        self.until_offered(15, MEMORY, capacity=4 * 15)
        for number in range(4):
            self.run_pod(f"pod-{number}", 8, MEMORY)
        self.create(self.pod("large", 8, MEMORY))
        self.until_unschedulable("large", f"Insufficient {MEMORY}")
        self.delete_pod("pod-2")
        self.assertEqual(len(self.view("large").reachable_minors()), 1)

    def test_best_fit_leaves_room_for_a_large_pod(self):
        self.gpus("t4-quad")
        self.policy_agent(memory())
        self.until_offered(4 * 15, MEMORY)
        first = self.run_pod("first", 4, MEMORY).reachable_minors()
        for number in range(2):
            self.assertEqual(self.run_pod(f"small-{number}", 5, MEMORY).reachable_minors(), first)
        self.assertNotEqual(self.run_pod("large", 15, MEMORY).reachable_minors(), first)

    def test_a_unit_that_is_too_small_ends_the_agent_with_the_smallest_that_fits(self):
        self.gpus("hgx-h200")
        agent = self.policy_agent(memory("1MiB"))
        until(agent.has_ended, "the end of the agent", 30)
        self.assertIn("smallest unit that fits: 64MiB", agent.log())


@only_ours("offers a GPU under one name")
class OneLedger(Policies):
    """The same GPU whole, in replicas and in units of memory."""

    def test_what_is_held_under_one_name_is_taken_off_the_others(self):
        self.gpus("t4-single")
        self.policy_agent(whole(), memory(), replicas(7))
        self.until_offered(1)
        self.until_offered(15, MEMORY)
        self.until_offered(7, SHARED)

        self.run_pod("units", 4, MEMORY)
        self.until_offered(0, GPU, capacity=1)
        self.until_offered(15, MEMORY)  # held ones stay healthy
        self.until_offered(5, SHARED, capacity=7)
        self.create(self.pod("whole", 1))
        self.until_unschedulable("whole", f"Insufficient {GPU}")

        self.delete_pod("units")
        self.assertEqual(self.view("whole").reachable_minors(), [0])
        self.until_offered(0, MEMORY, capacity=15)
        self.until_offered(0, SHARED, capacity=7)
        self.delete_pod("whole")
        self.until_offered(15, MEMORY)
        self.until_offered(7, SHARED)
        self.until_offered(1)

    def test_holds_are_told_with_pod_and_container(self):
        self.gpus("t4-single")
        agent = self.policy_agent(whole(), memory())
        self.until_offered(15, MEMORY)
        self.run_pod("units", 4, MEMORY)
        def told():
            return [(h["namespace"], h["pod"], h["container"], h["shares"]) for h in agent.devices()["holders"]]
        until(lambda: told() == [("default", "units", "main", 4)], "the holder's name", 30)

    def test_an_init_containers_share_counts_while_it_runs_and_goes_on_to_the_next(self):
        self.gpus("t4-single")
        agent = self.policy_agent(whole(), memory())
        self.until_offered(15, MEMORY)
        # Plain init containers are not in the kubelet's pod-resources.
        waits = container("waits", {MEMORY: 4}, "until [ -e /shared/go ]; do sleep 0.1; done", stays=False,
                          volumeMounts=[{"name": "shared", "mountPath": "/shared"}])
        main = container("main", {MEMORY: 4})
        self.create(pod_of("with-init", [main], initContainers=[waits], volumes=[{"name": "shared", "emptyDir": {}}]))
        until(lambda: "done" in self.output("with-init", "waits"), "the init container", 30)
        self.until_offered(0, GPU, capacity=1)
        self.until_free(agent, MEMORY, 11)
        self.cluster.checked("kubectl", "exec", "with-init", "-c", "waits", "--", "touch", "/shared/go")
        self.view("with-init")
        self.until_free(agent, MEMORY, 11)
        self.delete_pod("with-init")
        self.until_offered(1)

    def test_several_names_are_refused_at_start_where_nobody_tells_who_holds_what(self):
        self.gpus("t4-single")
        missing = "--pod-resources-socket=/nonexistent/kubelet.sock"
        agent = self.policy_agent(whole(), memory(), flags=[missing])
        until(agent.has_ended, "the end of the agent", 30)
        self.assertIn("there is no folder /nonexistent; mount it", agent.log())
        self.policy_agent(memory(), flags=[missing])  # one name does without
        self.until_offered(15, MEMORY)
        self.assertEqual(self.run_pod("units", 4, MEMORY).reachable_minors(), [0])

    def test_two_of_our_resources_in_one_container_come_through_cdi(self):
        """Variables of the same name would collide."""
        self.gpus("t4-quad")
        self.policy_agent(memory(devices=[1]), flags=["--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all"])
        self.until_offered(3)
        self.until_offered(15, MEMORY)
        self.create(pod("both", {GPU: 1, MEMORY: 4}))
        minors = self.view("both").reachable_minors()
        self.assertEqual(len(minors), 2)
        self.assertIn(1, minors)

    def test_the_ledger_is_rebuilt_after_the_agent_is_killed(self):
        self.gpus("t4-quad")
        agent = self.policy_agent(whole(), memory())
        self.until_offered(4)
        held = self.run_pod("units", 4, MEMORY).reachable_minors()
        agent.kill()
        self.until_offered(0, GPU, capacity=4)  # and not what was offered before
        agent.start()
        self.until_offered(3, GPU, capacity=4)
        rest = self.run_pod("rest", 3).reachable_minors()
        self.assertEqual(sorted(held + rest), [0, 1, 2, 3])

    def test_the_ledger_outlives_a_kubelet(self):
        self.gpus("t4-quad")
        agent = self.policy_agent(whole(), memory())
        self.until_offered(4)
        held = self.run_pod("units", 4, MEMORY).reachable_minors()
        self.cluster.kill("kubelet")
        agent.until_it_misses_the_kubelet()
        self.cluster.start("kubelet")
        until(lambda: agent.resource(GPU)["kubelet"]["registered"], "the registration with the next kubelet", 30)
        self.until_offered(3, GPU, capacity=4)
        rest = self.run_pod("rest", 3).reachable_minors()
        self.assertEqual(sorted(held + rest), [0, 1, 2, 3])
