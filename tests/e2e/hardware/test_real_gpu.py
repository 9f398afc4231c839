# SPDX-License-Identifier: Apache-2.0
"""On a machine with a real GPU and its driver: pods compute, or cannot."""
import pathlib

from cluster.cluster import until

from stories.story import GPU

from .real_gpu import COMPUTES, RealGpuStory

DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"


class RealGpu(RealGpuStory):
    def test_a_pod_computes_on_the_gpu_that_it_got_as_device_nodes(self):
        self.start_agent("--device-list-strategy=volume-mounts", "--pass-device-specs",
                         f"--host-path={self.driver_folder()}")
        view = self.pod_that_computes("computes", env={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"})
        self.assertIn(COMPUTES, view.told["result"])
        self.assertFalse(view.env.get("NVIDIA_VISIBLE_DEVICES", "").startswith("GPU-"))

    def test_a_pod_computes_on_the_gpu_that_it_got_by_cdi(self):
        self.start_agent(*self.by_cdi())
        view = self.pod_that_computes("computes")
        self.assertIn(COMPUTES, view.told["result"])

    def test_a_pod_that_asks_for_none_cannot_open_it(self):
        self.start_agent(*self.by_cdi())
        self.assert_has_no_gpu(self.run_pod("without", 0))

    def test_a_pod_goes_on_computing_when_kubelet_and_agent_were_killed(self):
        agent = self.start_agent(*self.by_cdi())
        self.pod_that_computes("goes-on")
        self.cluster.kill("kubelet")
        agent.kill()
        agent.start()
        self.cluster.start("kubelet")
        self.until_offered(self.count)
        computed = until(lambda: self.compute_again("goes-on"), "a command in the pod", 60)
        self.assertIn(COMPUTES, computed)
        self.create(self.pod("late", self.count))
        self.until_unschedulable("late", f"Insufficient {GPU}")

    def compute_again(self, name):
        done = self.cluster.inside("kubectl", "exec", name, "--", "compute")
        return done.stdout if done.returncode == 0 else None

    def test_the_agent_in_its_pod_serves_a_node_without_nvidias_runtime(self):
        self.cluster.import_image(DEPLOY.parent / "build/tranche-device-plugin-image.tar")
        # The hook program is not at its usual place here; the rest is as it is.
        manifest = (DEPLOY / "manifests/tranche-device-plugin-cdi.yml").read_text().replace(
            "          env:\n", f"          env:\n            - name: NVIDIA_CDI_HOOK_PATH\n"
                              f"              value: {self.hook()}\n")
        self.cluster.checked("kubectl", "apply", "-f", "-", input=manifest)
        self.addCleanup(self.unless_failed, "kubectl", "delete", "-f", "-", "--wait", input=manifest)
        self.until_offered(self.count)
        self.assertIn(COMPUTES, self.pod_that_computes("computes").told["result"])
