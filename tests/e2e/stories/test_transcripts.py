# SPDX-License-Identifier: Apache-2.0
"""The stand-in calls the agent as the real kubelet does, call by call.

A story is a function of a node. It is told on both, and the two transcripts
must be the same but for chance (testbed/recorder/compare_transcripts.py).
"""
import difflib
import pathlib
import tempfile

from .configurations import time_slicing
from .real_node import RealNode
from .recorded_node import Part
from .standin_node import StandinNode
from .story import GPU, Story
from .story_sets import extended
from .under_test import only_ours

SLICE_1G, SLICE_2G, SLICE_3G, SLICE_4G = (
    f"nvidia.com/mig-{profile}" for profile in ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb"))
MIXED = {GPU: 4, SLICE_1G: 9, f"{SLICE_1G}.me": 1, SLICE_2G: 2, SLICE_3G: 3}


@only_ours("compares our stand-in for the kubelet with the real one, by what both ask our agent for")
class Transcripts(Story):
    maxDiff = None

    def tell(self, kind, world, story):
        """The node, when the story is over and all that was started has ended."""
        folder = tempfile.TemporaryDirectory(prefix="tranche-")
        self.addCleanup(folder.cleanup)
        node = kind(pathlib.Path(folder.name), self, world)
        self.addCleanup(node.stop)
        story(node)
        node.end()
        return node

    def told_alike(self, world, story):
        """The lines that both have in common, which is all."""
        real = self.tell(RealNode, world, story)
        standin = self.tell(StandinNode, world, story)
        lines = real.normalised()
        difference = list(difflib.unified_diff(lines, standin.normalised(), "real", "standin", lineterm=""))
        self.assertEqual(difference, [], "\n" + "\n".join(difference))
        # Nothing that the story did is missing from the transcript.
        granted = [event for event in real.recorded("Allocate") if "answer" in event]
        self.assertEqual(len(granted), real.asked)
        return lines

    @extended
    def test_another_story_is_told_apart(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            if node.name == "real":
                node.remove("one")
            node.admit("two", {GPU: 1})
        with self.assertRaisesRegex(self.failureException, "-GetPreferred.* available=8 .*\n-Allocate .*\n"
                                                           "\\+GetPreferred.* available=7 .*\n\\+Allocate "):
            self.told_alike("dgx-a100", story)

    def test_pods_come_and_go(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            node.admit("two", {GPU: 2})
            node.be_refused("eight", {GPU: 8})
            node.admit("four", {GPU: 4})
            node.admit("last", {GPU: 1})
            node.be_refused("late", {GPU: 1})
            node.remove("two")
            node.admit("heir", {GPU: 2})
            node.remove("one")
            node.remove("four")
            node.admit("three", {GPU: 3})
        self.told_alike("dgx-a100", story)

    @extended
    def test_pods_have_several_containers(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("pair", Part("left", {GPU: 1}), Part("right", {GPU: 2}), Part("aside", {}))
            # The container gets what the init container had, and asks for one more.
            node.admit("prepared", Part("before", {GPU: 1}, "init"), Part("main", {GPU: 2}))
            node.remove("pair")
            # The container gets just what the init container had, and nothing is asked.
            # (Fewer it would draw by lot.)
            node.admit("same", Part("before", {GPU: 2}, "init"), Part("main", {GPU: 2}))
            node.admit("watched", Part("watch", {GPU: 1}, "sidecar"), Part("main", {GPU: 1}))
            node.be_refused("wide", Part("left", {GPU: 2}), Part("right", {GPU: 1}), served=1)
            node.admit("rest", {GPU: 2})
        self.told_alike("dgx-a100", story)

    @extended
    def test_a_gpu_fails_and_recovers(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            node.admit("four", {GPU: 4})
            node.fault("lose", "--gpu", "0")  # that of the first pod
            node.until_offered(7, capacity=8)
            node.restart_container("one")  # which is no reason to look at its GPU
            node.fault("lose", "--gpu", "7")
            node.until_offered(6, capacity=8)
            node.admit("two", {GPU: 1})
            node.remove("one")
            node.remove("four")
            node.admit("three", {GPU: 3})
            node.fault("come-back", "--gpu", "0")
            node.until_offered(7, capacity=8)
            node.admit("more", {GPU: 2})
            node.fault("come-back", "--gpu", "7")
            node.until_offered(8)
            node.admit("rest", {GPU: 2})
        self.told_alike("dgx-a100", story)

    @extended
    def test_a_kubelet_is_restarted_under_running_pods(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            node.admit("three", {GPU: 3})
            node.restart_kubelet()
            node.until_offered(8)
            node.restart_container("one")
            node.admit("two", {GPU: 2})
            node.remove("three")
            node.restart_kubelet()
            node.until_offered(8)
            node.admit("four", {GPU: 4})
        self.told_alike("dgx-a100", story)

    @extended
    def test_a_kubelet_is_restarted_while_the_agent_is_away(self):
        """With the agent there its registration races with the kubelet's look at its pods."""
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("plain", {GPU: 1})
            node.admit("prepared", Part("before", {GPU: 1}, "init"), Part("main", {GPU: 2}))
            node.admit("watched", Part("watch", {GPU: 1}, "sidecar"), Part("main", {GPU: 1}))
            node.kill_agent()
            node.until_offered(0, capacity=8)
            node.restart_kubelet()
            node.until_rejected("prepared")
            node.until_offered(0)
            node.be_refused("meanwhile", {GPU: 1})
            node.start_agent_again()
            node.until_offered(8)
            node.admit("three", {GPU: 3})
            node.admit("two", {GPU: 2})
        lines = self.told_alike("dgx-a100", story)
        self.assertIn("prepared was ended: UnexpectedAdmissionError: Allocate failed due to no healthy devices present; "
                      f"cannot allocate unhealthy devices {GPU}, which is unexpected", lines)

    @extended
    def test_the_agent_is_killed_and_comes_back(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            node.admit("three", {GPU: 3})
            node.kill_agent()
            node.until_offered(0, capacity=8)
            node.be_refused("meanwhile", {GPU: 1})
            node.start_agent_again()
            node.until_offered(8)
            node.admit("two", {GPU: 2})
            node.remove("one")
            node.stop_agent()
            node.until_offered(0, capacity=8)
            node.start_agent_again()
            node.until_offered(8)
            node.admit("late", {GPU: 3})
        self.told_alike("dgx-a100", story)

    @extended
    def test_pods_are_there_before_the_agent(self):
        late = "nvidia.com/gpu-late"  # no other story may have made it known to the kubelet

        def story(node):
            # It comes in without, and gets its own when its container is started again.
            node.admit("early", {late: 2})
            node.start(config=time_slicing(resources=[{"name": GPU, "rename": late, "replicas": 2}]))
            node.until_offered(8, resource=late)
            node.admit("two", {late: 2})
            node.restart_container("early")
            node.admit("rest", {late: 4})
        self.told_alike("t4-quad", story)

    @extended
    def test_gpus_are_cut_with_mig(self):
        def story(node):
            node.start("--mig-strategy=mixed")
            node.until_all_offered(MIXED)
            node.admit("small", {SLICE_1G: 1})
            node.admit("mixed", {SLICE_1G: 2, SLICE_3G: 1, GPU: 1})
            node.admit("pair", Part("left", {SLICE_2G: 1}), Part("right", {SLICE_2G: 1, SLICE_1G: 1}))
            node.be_refused("late", {SLICE_2G: 1})
            node.remove("mixed")
            node.admit("heir", {SLICE_1G: 4, SLICE_3G: 2})
        self.told_alike("dgx-a100-mig-mixed", story)

    @extended
    def test_gpus_are_cut_otherwise_under_running_pods(self):
        def story(node):
            node.start("--mig-strategy=mixed")
            node.until_all_offered(MIXED)
            node.admit("small", {SLICE_1G: 8})
            node.admit("whole", {GPU: 4})
            node.fault("mig-off", "--gpu", "6")  # seven of the slices that are in use
            offer = {**MIXED, GPU: 5, SLICE_1G: 2}
            node.until_all_offered(offer)
            node.admit("one", {GPU: 1})
            node.remove("whole")  # slices of a GPU that is held are not offered
            node.fault("mig", "--gpu", "0", "--layout", "4g.20gb,3g.20gb")
            offer |= {GPU: 4, SLICE_4G: 1, SLICE_3G: 4}
            node.until_all_offered(offer)
            node.admit("big", {SLICE_4G: 1, SLICE_3G: 1})
            node.remove("small")
            node.admit("small-again", {SLICE_1G: 2})
            node.admit("three", {GPU: 3})
            node.restart_kubelet()
            node.until_all_offered(offer)
            node.admit("last", {SLICE_3G: 2})
        self.told_alike("dgx-a100-mig-mixed", story)

    @extended
    def test_gpus_are_shared(self):
        def story(node):
            node.start(config=time_slicing())
            node.until_offered(16)
            node.admit("three", {GPU: 3})
            node.admit("one", {GPU: 1})
            node.admit("six", {GPU: 6})
            node.remove("three")
            node.admit("two", {GPU: 2})
            node.admit("rest", {GPU: 7})
        self.told_alike("t4-quad", story)

    @extended
    def test_the_agent_refuses_a_pod(self):
        def story(node):
            node.start(config=time_slicing(failRequestsGreaterThanOne=True))
            node.until_offered(16)
            node.admit("before", {GPU: 1})
            node.be_refused("greedy", {GPU: 2})
            # All that was reserved for it is free, and so it is if its first container was served.
            node.admit("after", {GPU: 1})
            node.be_refused("half", Part("left", {GPU: 1}), Part("right", {GPU: 3}), served=1)
            node.admit("last", {GPU: 1})
        lines = self.told_alike("t4-quad", story)
        # Twice in the agent's words, twice in the kubelet's.
        self.assertEqual(sum("maximum request size for shared resources is 1" in line for line in lines), 4)
