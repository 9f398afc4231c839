# SPDX-License-Identifier: Apache-2.0
from cluster.cluster import until

from .pods import DONE, LOOK_AROUND, parse_view, pod
from .story import GPU, PODS, Story
from .story_sets import extended

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@extended
class Reboot(Story):
    def deploy(self, name, replicas):
        template = pod("", {GPU: 1})
        template["metadata"] = {"labels": {"app": name}}
        template["spec"]["restartPolicy"] = "Always"
        self.cluster.api.create(DEPLOYMENTS, {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": template["metadata"], "spec": template["spec"]}}})
        self.addCleanup(self.cluster.api.delete, f"{DEPLOYMENTS}/{name}")

    def running(self):
        """Names of pods whose container runs; those of before the reboot are not counted twice."""
        return [item["metadata"]["name"] for item in self.cluster.api.get(PODS)["items"]
                if item["status"].get("phase") == "Running" and "deletionTimestamp" not in item["metadata"]
                and all("running" in c["state"] for c in item["status"].get("containerStatuses", []))]

    def reachable_minors(self):
        """Of the eight pods that run, or None: what the API has may be from before a reboot."""
        names = self.running()
        if len(names) != 8:
            return None
        done = [self.cluster.inside("kubectl", "exec", name, "--", "sh", "-c", LOOK_AROUND + DONE) for name in names]
        if any(each.returncode != 0 for each in done):
            return None
        return sorted(minor for each in done for minor in parse_view(each.stdout).reachable_minors())

    def assert_eight_pods_with_a_gpu_each(self):
        self.assertEqual(until(self.reachable_minors, "eight running pods", 90), list(range(8)))

    def test_after_a_reboot_the_pods_of_controllers_run_again_and_nothing_is_given_twice(self):
        gpus = self.gpus("dgx-a100")
        agent = self.agent("--pass-device-specs")
        self.until_offered(8)
        self.deploy("a", 5)
        self.deploy("b", 3)
        self.assert_eight_pods_with_a_gpu_each()

        self.cluster.down()
        agent.process.wait(30)
        self.cluster.up(self.kubelet_changes, self.default_runtime)
        gpus.mount()
        agent.start()
        self.until_offered(8)
        self.assert_eight_pods_with_a_gpu_each()
