# SPDX-License-Identifier: Apache-2.0
"""GPUs that are cut with MIG: what is offered, and what a pod can reach."""
from cluster.cluster import until

from .story import GPU, Story

MIXED = {GPU: 4, "nvidia.com/mig-1g.5gb": 9, "nvidia.com/mig-1g.5gb.me": 1, "nvidia.com/mig-2g.10gb": 2,
         "nvidia.com/mig-3g.20gb": 3}
COMMON = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb")
UNDISPUTED = {GPU: 4, "nvidia.com/mig-2g.10gb": 2}


class Mig(Story):
    def try_capabilities(self, gpus):
        """For a pod: tries to open every capability node that the node has, with nodes of its own making."""
        major = gpus.major("nvidia-caps")
        minors = " ".join(str(cap) for device in gpus.mig_devices() for cap in device.caps)
        return (f"for cap in 1 2 {minors}; do rm -f /tmp/node; mknod /tmp/node c {major} $cap && "
                'try /tmp/node "told cap$cap"; done')

    def expect_only(self, devices, view):
        """The view is that of a pod with exactly these MIG devices."""
        parents = sorted({device.gpu for device in devices})
        caps = sorted(cap for device in devices for cap in device.caps)
        self.assertEqual(view.reachable_minors(), parents)
        self.assertEqual([node for node in view.opens() if node.startswith("/dev/nvidia-caps/")],
                         sorted(node for device in devices for node in device.nodes()))
        self.assertEqual(sorted(int(key[3:]) for key, how in view.told.items() if how == "opens"), caps)
        self.assertGreater(len(view.told), len(caps))

    def devices_of(self, view, gpus):
        by_uuid = {device.uuid: device for device in gpus.mig_devices()}
        return [by_uuid[uuid] for uuid in view.visible()]

    def until_all_offered(self, resources):
        for resource, count in resources.items():
            self.until_offered(count, resource)

    def until_ready(self):
        """For stories in which it is no matter how the devices of this world are counted: it has
        compute instances that are parts of their GPU instance, and profiles with attributes."""
        self.until_all_offered(UNDISPUTED)
        until(lambda: all((self.offered(resource) or (0,))[0] for resource in COMMON), "MIG devices", 30)

    def test_mixed_offers_a_resource_for_each_profile_beside_whole_gpus(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--mig-strategy=mixed")
        self.until_all_offered(MIXED)
        for resource in MIXED:
            name = resource.replace("/", "-")
            view = self.run_pod(name, 1, resource)
            if resource == GPU:
                self.assertIn(view.visible()[0], gpus.uuids()[:4])
            else:
                profile = self.devices_of(view, gpus)[0].profile
                self.assertEqual("nvidia.com/mig-" + profile.replace("+", "."), resource)

    def test_a_mig_pod_opens_its_slice_and_the_gpu_below_it_and_no_other_slice(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--mig-strategy=mixed", "--pass-device-specs")
        self.until_ready()
        views = [self.run_pod(f"pod-{number}", count, resource, look=self.try_capabilities(gpus))
                 for number, (count, resource) in enumerate([
                     (1, "nvidia.com/mig-3g.20gb"), (1, "nvidia.com/mig-2g.10gb"),
                     (2, "nvidia.com/mig-1g.5gb"), (2, "nvidia.com/mig-1g.5gb")])]
        for view, count in zip(views, (1, 1, 2, 2)):
            devices = self.devices_of(view, gpus)
            self.assertEqual(len(devices), count)
            self.expect_only(devices, view)
        everything = [uuid for view in views for uuid in view.visible()]
        self.assertEqual(len(set(everything)), 6)

    def test_a_pod_with_a_whole_gpu_reaches_no_slice(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--mig-strategy=mixed", "--pass-device-specs")
        self.until_ready()
        view = self.run_pod("whole", 4, look=self.try_capabilities(gpus))
        self.assertEqual(view.reachable_minors(), [0, 1, 2, 3])
        self.assertEqual(set(view.told.values()), {"denied"})

    def test_single_offers_slices_as_gpus(self):
        gpus = self.gpus("dgx-a100-mig-single")
        self.agent("--mig-strategy=single", "--pass-device-specs")
        self.until_offered(56)
        views = [self.run_pod(name, count, look=self.try_capabilities(gpus))
                 for name, count in (("one", 1), ("three", 3))]
        for view, count in zip(views, (1, 3)):
            devices = self.devices_of(view, gpus)
            self.assertEqual(len(devices), count)
            self.expect_only(devices, view)
        self.assertFalse(set(views[0].visible()) & set(views[1].visible()))

    def test_none_offers_a_gpu_whole_though_it_is_cut(self):
        gpus = self.gpus("dgx-a100-mig-single")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        view = self.run_pod("whole", 1)
        self.assertIn(view.visible()[0], gpus.uuids())
        self.assertEqual(view.reachable_minors(), [gpus.uuids().index(view.visible()[0])])

    def test_a_gpu_that_is_cut_otherwise_while_the_agent_runs_is_offered_as_it_is_now(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--mig-strategy=mixed", "--pass-device-specs")
        self.until_ready()
        self.run_pod("before", 4, look=self.try_capabilities(gpus))
        self.delete_pod("before")
        before = self.offered("nvidia.com/mig-3g.20gb")[0]
        gpus.fault("mig", "--gpu", "0", "--layout", "4g.20gb,3g.20gb")
        self.until_all_offered({**UNDISPUTED, GPU: 3, "nvidia.com/mig-4g.20gb": 1,
                                "nvidia.com/mig-3g.20gb": before + 1})
        view = self.run_pod("after", 1, "nvidia.com/mig-4g.20gb", look=self.try_capabilities(gpus))
        devices = self.devices_of(view, gpus)
        self.assertEqual([(device.gpu, device.profile) for device in devices], [(0, "4g.20gb")])
        self.expect_only(devices, view)

    def test_a_gpu_that_is_whole_again_is_offered_whole(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--mig-strategy=mixed", "--pass-device-specs")
        self.until_ready()
        kept = self.run_pod("kept", 1, "nvidia.com/mig-2g.10gb")
        before = self.offered("nvidia.com/mig-1g.5gb")[0]
        gpus.fault("mig-off", "--gpu", "6")
        self.until_all_offered({**UNDISPUTED, GPU: 5, "nvidia.com/mig-1g.5gb": before - 7})
        view = self.run_pod("whole", 5)
        self.assertEqual(view.reachable_minors(), [0, 1, 2, 3, 6])
        self.assertIn(gpus.uuids()[6], view.visible())
        # It was no matter of others.
        self.assertEqual(self.phase("kept"), "Running")
        self.assertEqual(self.look_again("kept").nodes, kept.nodes)

    def test_a_profile_that_is_no_more_is_offered_no_more(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--mig-strategy=mixed")
        self.until_ready()
        gpus.fault("mig-off", "--gpu", "5")
        gpus.fault("mig-off", "--gpu", "7")
        self.until_offered(6)
        self.until_offered(0, "nvidia.com/mig-2g.10gb", capacity=0)  # and not only unhealthy
        view = self.run_pod("whole", 6)
        self.assertEqual(len(view.visible()), 6)
