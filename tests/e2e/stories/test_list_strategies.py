# SPDX-License-Identifier: Apache-2.0
"""The ways to tell the runtime of a container's GPUs, and what containerd makes of each.

There is no runtime of NVIDIA's here: containerd and runc do what they do of
themselves, which is all for CDI, and nothing for the variable and the mounts.
"""
import re

from cluster.cluster import built_programs

from .pods import pod
from .story import GPU, Story
from .under_test import only_ours

MOUNTS = "/var/run/nvidia-container-devices"
CONTROL_NODES = ["/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"]
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
NO_HOOKS = "--cdi-disable-hooks=all"
LOOK_AT_DRIVER = f"""
for name in libcuda.so libcuda.so.1 libnvidia-ml.so.1; do echo "told $name $(readlink {LIBRARIES}/$name)"; done
echo "told render $(cd /dev/dri/by-path 2>/dev/null && echo *-render)"
echo "told cache $(grep -c libnvidia-ml.so.1 /etc/ld.so.cache 2>/dev/null)"
touch /usr/bin/nvidia-smi 2>/dev/null && echo "told nvidia-smi can be changed"
"""


class ListStrategies(Story):
    tools = ("nvidia",)

    def start(self, strategy, *flags, world="dgx-a100", offered=8):
        gpus = self.gpus(world)
        self.agent(f"--device-list-strategy={strategy}", *flags)
        self.until_offered(offered)
        return gpus

    def expect_gpus(self, view, count):
        """It has the nodes of so many GPUs and the control nodes, all open, and can make no other that opens."""
        minors = view.reachable_minors()
        self.assertEqual(len(minors), count)
        self.assertEqual(view.opens(), sorted(CONTROL_NODES + [f"/dev/nvidia{minor}" for minor in minors]))
        self.assertEqual(view.opens(), sorted(view.nodes))

    def expect_driver_files(self, view):
        for path in ("/usr/bin/nvidia-smi", f"{LIBRARIES}/libcuda.so.570.148.08"):
            self.assertIn("ro", view.mounts[path][1].split(","), path)
        self.assertNotIn("nvidia-smi", view.told)

    def devices_mounted(self, view):
        return sorted(path.removeprefix(MOUNTS + "/") for path in view.mounts if path.startswith(MOUNTS))

    # The variable.

    def test_the_variable_has_indexes_if_they_are_asked_for(self):
        self.start("envvar", "--device-id-strategy=index", "--pass-device-specs")
        view = self.run_pod("three", 3)
        self.assertEqual(sorted(view.visible()), [str(minor) for minor in view.reachable_minors()])
        self.assertEqual(len(view.visible()), 3)

    @only_ours("passes devices on in the kubelet's order, which is random, and promises none")
    def test_the_variable_has_gpus_in_their_order(self):
        self.start("envvar", "--device-id-strategy=index", "--pass-device-specs")
        self.assertEqual(self.run_pod("all", 8).visible(), [str(minor) for minor in range(8)])

    def test_the_index_of_a_mig_device_has_two_parts(self):
        gpus = self.start("envvar", "--device-id-strategy=index", "--mig-strategy=mixed",
                          world="dgx-a100-mig-mixed", offered=4)
        self.until_offered(2, "nvidia.com/mig-2g.10gb")
        view = self.run_pod("two", 2, "nvidia.com/mig-2g.10gb")
        self.assertEqual(sorted(view.visible()), [f"{device.gpu}:{device.index}" for device in gpus.mig_devices()
                                                  if device.profile == "2g.10gb"])

    # Mounts.

    def test_mounts_name_the_gpus_by_uuid(self):
        gpus = self.start("volume-mounts", "--pass-device-specs")
        view = self.run_pod("two", 2)
        self.assertEqual(view.env["NVIDIA_VISIBLE_DEVICES"], MOUNTS)
        self.assertEqual(self.devices_mounted(view),
                         sorted(gpus.uuids()[minor] for minor in view.reachable_minors()))
        self.assertEqual(len(self.devices_mounted(view)), 2)

    def test_mounts_name_the_gpus_by_index(self):
        self.start("volume-mounts", "--device-id-strategy=index", "--pass-device-specs")
        view = self.run_pod("two", 2)
        self.assertEqual(self.devices_mounted(view), [str(minor) for minor in view.reachable_minors()])
        self.assertEqual(len(self.devices_mounted(view)), 2)

    def test_with_mounts_and_the_variable_the_variable_says_that_there_are_mounts(self):
        self.start("envvar,volume-mounts")
        view = self.run_pod("two", 2)
        self.assertEqual(view.env["NVIDIA_VISIBLE_DEVICES"], MOUNTS)
        self.assertEqual(len(self.devices_mounted(view)), 2)

    def test_a_container_with_two_resources_has_the_mounts_of_both(self):
        gpus = self.start("volume-mounts", "--mig-strategy=mixed", world="dgx-a100-mig-mixed", offered=4)
        self.until_offered(2, "nvidia.com/mig-2g.10gb")
        self.create(pod("both", {GPU: 1, "nvidia.com/mig-2g.10gb": 1}))
        whole, cut = self.devices_mounted(self.view("both"))
        self.assertIn(whole, gpus.uuids())
        self.assertIn(cut, [device.uuid for device in gpus.mig_devices()])

    # CDI by the field of the kubelet.

    def test_cdi_gives_nodes_and_driver_files_without_any_help_of_a_runtime(self):
        self.start("cdi-cri", NO_HOOKS)
        view = self.run_pod("two", 2, look=LOOK_AT_DRIVER)
        self.expect_gpus(view, 2)
        self.expect_driver_files(view)
        self.assertEqual(view.env["NVIDIA_VISIBLE_DEVICES"], "void")

    @only_ours("has --cdi-disable-hooks from v0.20.0 on; before, hooks cannot be switched off")
    def test_hooks_that_are_switched_off_do_not_run(self):
        self.start("cdi-cri", NO_HOOKS)
        view = self.run_pod("one", 1, look=LOOK_AT_DRIVER)
        self.expect_driver_files(view)
        # Links are the matter of hooks.
        self.assertEqual((view.told["libcuda.so"], view.told["render"]), ("", ""))

    def test_cdi_by_index_is_the_same(self):
        self.start("cdi-cri", NO_HOOKS, "--device-id-strategy=index")
        view = self.run_pod("two", 2, look=LOOK_AT_DRIVER)
        self.expect_gpus(view, 2)
        self.expect_driver_files(view)

    def test_cdi_pods_do_not_share_gpus(self):
        self.start("cdi-cri", NO_HOOKS)
        views = [self.run_pod(f"pod-{number}", count) for number, count in enumerate((3, 4, 1))]
        for view, count in zip(views, (3, 4, 1)):
            self.expect_gpus(view, count)
        self.assertEqual(sorted(minor for view in views for minor in view.reachable_minors()), list(range(8)))

    def test_cdi_and_device_specs_give_every_node_once(self):
        self.start("cdi-cri,envvar", NO_HOOKS, "--pass-device-specs")
        view = self.run_pod("two", 2, look=LOOK_AT_DRIVER)
        self.expect_gpus(view, 2)
        self.expect_driver_files(view)
        paths = [device["path"] for device in self.oci_spec("two")["linux"]["devices"]]
        self.assertEqual(len(paths), len(set(paths)), paths)

    def test_a_mig_device_by_cdi_has_its_capability_nodes(self):
        gpus = self.start("cdi-cri", NO_HOOKS, "--mig-strategy=mixed", world="dgx-a100-mig-mixed", offered=4)
        self.until_offered(2, "nvidia.com/mig-2g.10gb")
        view = self.run_pod("one", 1, "nvidia.com/mig-2g.10gb")
        caps = [node for node in view.opens() if "nvidia-cap" in node]
        device = next(d for d in gpus.mig_devices() if sorted(d.nodes()) == caps)
        self.assertEqual((device.profile, view.reachable_minors()), ("2g.10gb", [device.gpu]))

    def test_a_container_with_two_resources_has_both_by_cdi(self):
        self.start("cdi-cri", NO_HOOKS, "--mig-strategy=mixed", world="dgx-a100-mig-mixed", offered=4)
        self.until_offered(2, "nvidia.com/mig-2g.10gb")
        self.create(pod("both", {GPU: 1, "nvidia.com/mig-2g.10gb": 1}))
        whole, cut = self.view("both").reachable_minors()
        self.assertIn(whole, (0, 1, 2, 3))
        self.assertIn(cut, (5, 7))

    def test_a_gpu_that_is_plugged_in_is_known_to_cdi_at_once(self):
        gpus = self.start("cdi-cri", NO_HOOKS, world="t4-quad", offered=4)
        gpus.fault("plug", "--model", "t4")
        self.until_offered(5)
        self.assertEqual(self.run_pod("all", 5).reachable_minors(), [0, 1, 2, 3, 4])

    # CDI by annotation.

    def test_containerd_takes_cdi_names_from_the_annotation_of_a_container_too(self):
        self.start("cdi-annotations", NO_HOOKS)
        view = self.run_pod("two", 2, look=LOOK_AT_DRIVER)
        self.expect_gpus(view, 2)
        self.expect_driver_files(view)

    def test_an_annotation_of_another_prefix_is_left_to_the_runtime(self):
        gpus = self.start("cdi-annotations", NO_HOOKS, "--cdi-annotation-prefix=nvidia.cdi.k8s.io/")
        view = self.run_pod("two", 2)
        self.assertEqual((view.nodes, view.reachable_minors()), ({}, []))
        told = {key: value for key, value in self.oci_spec("two")["annotations"].items()
                if key.startswith("nvidia.cdi.k8s.io/")}
        self.assertEqual(len(told), 1)
        names = list(told.values())[0].split(",")
        self.assertEqual(len(names), 2)
        self.assertLessEqual(set(names), {f"k8s.device-plugin.nvidia.com/gpu={uuid}" for uuid in gpus.uuids()})

    def test_both_ways_of_cdi_together_give_every_node_once(self):
        self.start("cdi-annotations,cdi-cri", NO_HOOKS)
        view = self.run_pod("two", 2)
        self.expect_gpus(view, 2)
        paths = [device["path"] for device in self.oci_spec("two")["linux"]["devices"]]
        self.assertEqual(len(paths), len(set(paths)), paths)

    # Several at once.

    def test_with_cdi_and_the_variable_that_of_cdi_wins(self):
        """So a runtime of NVIDIA's does nothing a second time."""
        self.start("envvar,cdi-cri", NO_HOOKS)
        view = self.run_pod("two", 2)
        self.expect_gpus(view, 2)
        self.assertEqual(view.env["NVIDIA_VISIBLE_DEVICES"], "void")

    def test_all_ways_at_once_get_along(self):
        gpus = self.start("envvar,volume-mounts,cdi-annotations,cdi-cri", NO_HOOKS, "--pass-device-specs")
        view = self.run_pod("two", 2, look=LOOK_AT_DRIVER)
        self.expect_gpus(view, 2)
        self.expect_driver_files(view)
        self.assertEqual(self.devices_mounted(view),
                         sorted(gpus.uuids()[minor] for minor in view.reachable_minors()))

    # Hooks.

    def hook_program(self):
        """Its name tells how it is called."""
        return built_programs(("nvidia",))["nvidia"] + "/nvidia-ctk"

    def test_the_hooks_of_nvidias_program_run_for_the_container(self):
        # The hook left out changes the kernel module's file in the container's own /proc, which has none here.
        self.start("cdi-cri", f"--nvidia-cdi-hook-path={self.hook_program()}",
                   "--cdi-disable-hooks=disable-device-node-modification")
        view = self.run_pod("one", 1, look=LOOK_AT_DRIVER)
        self.expect_gpus(view, 1)
        self.expect_driver_files(view)
        self.assertEqual(view.told["libcuda.so"], "libcuda.so.1")
        self.assertEqual(view.told["libnvidia-ml.so.1"], "libnvidia-ml.so.570.148.08")
        self.assertEqual(view.told["cache"], "1")
        if not re.fullmatch(r"pci-0000:[0-9a-f]{2}:00\.0-render", view.told["render"]):
            self.fail(f"/dev/dri/by-path has no link to the render node but '{view.told['render']}'")

    def test_a_hook_program_that_is_not_there_is_named_by_the_pods_status(self):
        self.start("cdi-cri", "--nvidia-cdi-hook-path=/usr/local/bin/nowhere/nvidia-ctk")
        self.create(pod("one", {GPU: 1}))
        status = self.until_phase("one", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(status["reason"], "StartError")
        self.assertIn("/usr/local/bin/nowhere/nvidia-ctk: no such file or directory", status["message"])
