# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own container runtime: with it, a device plugin only says which GPUs, and it gives them."""
import json

from cluster import nvidia

from .gpus import DRIVER_ROOT
from .story import Story

GPU_NODES = [f"/dev/nvidia{n}" for n in range(8)]
SHARED_NODES = ["/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"]
LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"


def variables(**values):
    return {"env": [{"name": name, "value": value} for name, value in values.items()]}


WANTS_ALL = variables(NVIDIA_VISIBLE_DEVICES="all")


class NvidiaStory(Story):
    more_programs = ("nvidia",)

    def setUp(self):
        super().setUp()
        self.hook = f"{self.cluster.programs['nvidia']}/nvidia-cdi-hook"
        self.whole_gpus = self.gpus("dgx-a100")
        self.runtime()

    def runtime(self, **settings):
        nvidia.configure(self.cluster.layout, self.cluster.programs, **settings)

    def run_under_it(self, name, count=0, **options):
        return self.run_pod(name, count, runtimeClassName="nvidia", **options)

    def named(self, name):
        """The GPUs that the plugin named to the runtime for a pod, in whatever way."""
        spec = self.oci_spec(name)
        told = json.dumps([spec["process"]["env"], spec["mounts"], spec.get("annotations")])
        return [n for n, uuid in enumerate(self.whole_gpus.uuids()) if uuid in told]

    def assert_has_what_was_named(self, name, count, view):
        named = self.named(name)
        self.assertEqual(len(named), count)
        self.assert_has(view, *named)

    def run_and_assert(self, name, count, **options):
        """The pod has so many GPUs, those that the plugin named."""
        self.assert_has_what_was_named(name, count, self.run_under_it(name, count, **options))

    def assert_has(self, view, *numbers, more=()):
        """These GPUs with all that belongs to them, and no other by whatever way."""
        self.assertEqual(view.reachable_minors(), list(numbers))
        self.assertEqual(view.opens(), sorted([*SHARED_NODES, *(GPU_NODES[n] for n in numbers), *more]))
        self.assertTrue(has_library(view), view.mounts)

    def assert_has_nothing(self, view):
        self.assertEqual(view.reachable_minors(), [])
        self.assertEqual(view.nodes, {})
        self.assertFalse(has_library(view), view.mounts)


def has_library(view):
    return any("/libnvidia-ml.so." in target for target in view.mounts)


class NvidiaRuntime(NvidiaStory):
    def test_gives_the_gpus_that_the_plugin_names_in_the_variable(self):
        self.agent("--device-list-strategy=envvar")
        self.until_offered(8)
        self.run_and_assert("two", 2)
        self.run_and_assert("other", 1)
        self.assertFalse(set(self.named("two")) & set(self.named("other")))
        # A variable in the pod's manifest comes after the plugin's, and wins.
        self.assert_has(self.run_under_it("greedy", 1, container=WANTS_ALL), *range(8))
        self.assert_has_nothing(self.run_pod("without", 1))

    def test_gives_the_gpus_that_the_plugin_names_in_mounts(self):
        self.runtime(by_variable=False, by_mounts=True)
        self.agent("--device-list-strategy=volume-mounts")
        self.until_offered(8)
        self.run_and_assert("two", 2)
        self.run_and_assert("greedy", 1, container=WANTS_ALL)

    def test_gives_the_gpus_that_the_plugin_names_in_annotations(self):
        self.agent("--device-list-strategy=cdi-annotations", "--cdi-annotation-prefix=nvidia.cdi.k8s.io/",
                   f"--nvidia-cdi-hook-path={self.hook}")
        self.until_offered(8)
        self.run_and_assert("two", 2)
        self.assert_has_nothing(self.run_pod("without", 1))

    def test_gives_the_gpus_by_a_specification_that_was_made_before(self):
        self.runtime(mode="cdi")
        self.cluster.checked("nvidia-ctk", "cdi", "generate", f"--driver-root={DRIVER_ROOT}",
                             f"--dev-root={DRIVER_ROOT}", f"--nvidia-cdi-hook-path={self.hook}",
                             "--device-name-strategy=uuid", "--output=/var/run/cdi/nvidia.yaml")
        self.agent("--device-list-strategy=envvar")
        self.until_offered(8)
        self.run_and_assert("two", 2)

    def test_gives_the_mig_devices_that_the_plugin_names(self):
        gpus = self.gpus("dgx-a100-mig-mixed")
        self.agent("--device-list-strategy=envvar", "--mig-strategy=mixed")
        resource = "nvidia.com/mig-2g.10gb"
        of_profile = [device for device in gpus.mig_devices() if device.profile == "2g.10gb"]
        self.until_offered(len(of_profile), resource)
        view = self.run_under_it("one", 1, resource=resource)
        given = [device for device in of_profile if device.nodes()[0] in view.nodes]
        self.assertEqual(len(given), 1, view.nodes)
        self.assert_has(view, given[0].gpu, more=given[0].nodes())

    def test_gives_all_to_a_pod_that_asks_for_none_but_sets_the_variable(self):
        self.assert_has(self.run_under_it("all", container=WANTS_ALL), *range(8))
        # The driver without a GPU.
        self.assert_has(self.run_under_it("none", container=variables(NVIDIA_VISIBLE_DEVICES="none")))
        self.assert_has_nothing(self.run_under_it("void", container=variables(NVIDIA_VISIBLE_DEVICES="void")))
        self.assert_has_nothing(self.run_under_it("unset"))

    def test_gives_none_to_such_a_pod_where_the_variable_is_ignored(self):
        self.runtime(by_variable=False, by_mounts=True)
        self.assert_has_nothing(self.run_under_it("all", container=WANTS_ALL))
        # To it, this capability is what makes a container a privileged one.
        admin = {**WANTS_ALL, "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
        self.assert_has(self.run_under_it("admin", container=admin), *range(8))


class NvidiaRuntimeByDefault(NvidiaStory):
    """As on nodes that NVIDIA's static manifest is made for."""
    default_runtime = "nvidia"

    def test_gives_a_plugins_own_pod_the_driver(self):
        image = {**variables(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility"),
                 "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
        look = f"[ -s {LIBRARY} ] && grep -qz {LIBRARY} /etc/ld.so.cache && echo told library found"
        view = self.run_pod("plugin", 0, container=image, look=look)
        self.assertEqual(view.opens(), sorted([*SHARED_NODES, *GPU_NODES]))
        self.assertEqual(view.told["library"], "found")

    def test_gives_pods_the_gpus_that_the_plugin_names_and_others_none(self):
        self.agent()
        self.until_offered(8)
        self.assert_has_what_was_named("two", 2, self.run_pod("two", 2))
        self.assert_has_nothing(self.run_pod("plain", 0))
        self.assert_has(self.run_pod("all", 0, container=WANTS_ALL), *range(8))
