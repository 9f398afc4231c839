# SPDX-License-Identifier: Apache-2.0
"""Whole GPUs: a pod gets those it asked for, and no other."""
from .pods import container, pod_of
from .story import GPU, Story

CONTROL_NODES = ["/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"]
EVERY_MINOR = list(range(8))
# Pairs of a DGX-1 with two NVLinks between them; the others have one or none.
DOUBLY_LINKED = [{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}]


class WholeGpus(Story):
    def minors(self, view, gpus):
        """Of the GPUs that the variable names."""
        return [gpus.uuids().index(uuid) for uuid in view.visible()]

    def test_the_variable_names_exactly_the_gpus_asked_for(self):
        gpus = self.gpus("dgx-a100")
        self.agent()
        self.until_offered(8)
        first, second = self.run_pod("one", 1), self.run_pod("three", 3)
        self.assertEqual((len(first.visible()), len(second.visible())), (1, 3))
        self.assertEqual(len(set(first.visible() + second.visible())), 4)
        self.assertLessEqual(set(first.visible() + second.visible()), set(gpus.uuids()))

    def test_without_device_specs_the_agent_opens_no_node(self):
        self.gpus("dgx-a100")
        self.agent()
        self.until_offered(8)
        view = self.run_pod("two", 2)
        self.assertEqual((view.nodes, view.reachable_minors()), ({}, []))

    def test_with_device_specs_a_pod_opens_its_gpus_and_control_nodes_and_nothing_else(self):
        gpus = self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        view = self.run_pod("three", 3)
        own = sorted(self.minors(view, gpus))
        self.assertEqual(len(own), 3)
        self.assertEqual(view.opens(), sorted(CONTROL_NODES + [f"/dev/nvidia{minor}" for minor in own]))
        self.assertEqual(view.opens(), sorted(view.nodes))
        # A node that the pod makes itself opens no door.
        self.assertEqual(sorted(view.made), [*EVERY_MINOR, 255])
        self.assertEqual(view.reachable_minors(), own)

    def test_a_pod_that_asks_for_none_sees_none(self):
        self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        view = self.run_pod("none", 0)
        self.assertEqual((view.nodes, view.reachable_minors()), ({}, []))
        self.assertEqual(set(view.made.values()), {"denied"})
        self.assertNotIn("NVIDIA_VISIBLE_DEVICES", view.env)

    def test_no_two_pods_share_a_gpu(self):
        gpus = self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        views = [self.run_pod(f"pod-{number}", count) for number, count in enumerate((1, 3, 2, 2))]
        reached = [minor for view in views for minor in view.reachable_minors()]
        self.assertEqual(sorted(reached), EVERY_MINOR)
        for view in views:
            self.assertEqual(view.reachable_minors(), sorted(self.minors(view, gpus)))

    def test_two_containers_of_a_pod_have_gpus_of_their_own(self):
        gpus = self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        self.create(pod_of("pair", [container("left", {GPU: 1}), container("right", {GPU: 2}),
                                    container("aside")]))
        left, right, aside = (self.view("pair", name) for name in ("left", "right", "aside"))
        self.assertEqual(left.reachable_minors(), sorted(self.minors(left, gpus)))
        self.assertEqual(right.reachable_minors(), sorted(self.minors(right, gpus)))
        self.assertEqual(len(set(left.visible() + right.visible())), 3)
        self.assertEqual(aside.reachable_minors(), [])

    def test_a_container_gets_the_gpus_of_the_init_container_before_it(self):
        self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        self.create(pod_of("prepared", [container("main", {GPU: 2})],
                           initContainers=[container("before", {GPU: 3}, stays=False)]))
        main, before = self.view("prepared"), self.view("prepared", "before")
        self.assertEqual((len(before.visible()), len(main.visible())), (3, 2))
        self.assertLess(set(main.visible()), set(before.visible()))
        # So five are left for others.
        self.assertEqual(len(self.run_pod("rest", 5).visible()), 5)

    def test_a_sidecar_keeps_its_gpu_to_itself(self):
        self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        sidecar = container("sidecar", {GPU: 1}, restartPolicy="Always")
        self.create(pod_of("watched", [container("main", {GPU: 1})], initContainers=[sidecar]))
        main, beside = self.view("watched"), self.view("watched", "sidecar")
        self.assertNotEqual(main.visible(), beside.visible())

    def test_two_gpus_are_those_with_most_links_between_them(self):
        gpus = self.gpus("dgx1-v100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        pairs = [set(self.minors(self.run_pod(f"pair-{number}", 2), gpus)) for number in range(4)]
        for pair in pairs:
            self.assertIn(pair, DOUBLY_LINKED)
        self.assertEqual(set.union(*pairs), set(EVERY_MINOR))

    def test_a_gpu_that_is_excluded_is_neither_offered_nor_reached(self):
        gpus = self.gpus("dgx-a100")
        self.agent("--pass-device-specs", f"--exclude-devices=0,{gpus.uuids()[5]}")
        self.until_offered(6)
        self.assertEqual(self.run_pod("all", 6).reachable_minors(), [1, 2, 3, 4, 6, 7])
