# SPDX-License-Identifier: Apache-2.0
"""The stand-in calls the agent as the real kubelet does, call by call.

A story is a function of a node. It is told on both, and the two transcripts
must be the same but for chance (tests/recorder/compare_transcripts.py).
"""
import difflib
import pathlib
import tempfile

from .recorded import Part, RealNode, StandinNode
from .story import GPU, Story

SLICE_1G, SLICE_2G, SLICE_3G = (f"nvidia.com/mig-{profile}" for profile in ("1g.5gb", "2g.10gb", "3g.20gb"))


def time_slicing(**changes):
    return {"version": "v1", "sharing": {"timeSlicing": {
        "resources": [{"name": GPU, "replicas": 4}], **changes}}}


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

    def test_a_gpu_fails_and_recovers(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            node.admit("four", {GPU: 4})
            node.fault("lose", "--gpu", "0")
            node.until_offered(7, capacity=8)
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

    def test_a_kubelet_is_restarted_under_running_pods(self):
        def story(node):
            node.start()
            node.until_offered(8)
            node.admit("one", {GPU: 1})
            node.admit("three", {GPU: 3})
            node.restart_kubelet()
            node.until_offered(8)
            node.admit("two", {GPU: 2})
            node.remove("three")
            node.restart_kubelet()
            node.until_offered(8)
            node.admit("four", {GPU: 4})
        self.told_alike("dgx-a100", story)

    def test_gpus_are_cut_with_mig(self):
        offer = {GPU: 4, SLICE_1G: 9, "nvidia.com/mig-1g.5gb.me": 1, SLICE_2G: 2, SLICE_3G: 3}

        def story(node):
            node.start("--mig-strategy=mixed")
            for resource, count in offer.items():
                node.until_offered(count, resource=resource)
            node.admit("small", {SLICE_1G: 1})
            node.admit("mixed", {SLICE_1G: 2, SLICE_3G: 1, GPU: 1})
            node.admit("pair", Part("left", {SLICE_2G: 1}), Part("right", {SLICE_2G: 1, SLICE_1G: 1}))
            node.be_refused("late", {SLICE_2G: 1})
            node.remove("mixed")
            node.admit("heir", {SLICE_1G: 4, SLICE_3G: 2})
        self.told_alike("dgx-a100-mig-mixed", story)

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
        self.assertEqual(sum("maximum request size for shared resources is 1" in line for line in lines), 4)

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
            node.admit("late", {GPU: 3})
        self.told_alike("dgx-a100", story)
