# SPDX-License-Identifier: Apache-2.0
"""Rights that the agent's account does not have: the log names each, and all that needs others works."""
import re

from cluster.cluster import until

from .agent_rights import EVENTS
from .reporting import COUNT, GPU_NODE, LABEL, ReportingStory
from .story_sets import extended
from .under_test import only_ours

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
MISSING = re.compile(r'cannot (\w+) resource \\"([\w/]+)\\"')
ALL = {"labels", "status", "gpu_node", "events"}

# (group, resource, verb): what is not published without it.
RIGHTS = {("", "nodes", "watch"): {"labels", "status", "gpu_node"},  # the Node's uid is not known then
          ("", "nodes", "patch"): {"labels"},
          ("", "nodes/status", "patch"): {"status"},
          ("gpu.tranche.dev", "gpunodes", "create"): {"gpu_node"},
          ("gpu.tranche.dev", "gpunodes", "patch"): {"gpu_node"},
          ("gpu.tranche.dev", "gpunodes/status", "patch"): {"gpu_node"},
          ("events.k8s.io", "events", "create"): {"events"}}


def without(rules, right):
    group, resource, verb = right
    left = [{**rule, "verbs": [each for each in rule["verbs"] if each != verb]}
            if rule["apiGroups"] == [group] and rule["resources"] == [resource] else rule for rule in rules]
    assert left != rules, f"the chart's role does not have {right}"
    return [rule for rule in left if rule["verbs"]]


@only_ours("is about our chart's rights")
class MissingRights(ReportingStory):
    def set_rules(self, rules, right, allowed):
        """And waits until the API server acts on it."""
        group, resource, verb = right
        name, _, part = resource.partition("/")
        self.cluster.api.merge(f"{ROLES}/agent.default.{self.account}", {"rules": rules})
        review = {"spec": {"resourceAttributes": {"group": group, "resource": name, "subresource": part, "verb": verb}}}
        until(lambda: self.agent_api.create(REVIEWS, review)["status"]["allowed"] == allowed,
              f"that the right {right} is {allowed}", 30)

    def published(self, healthy):
        """Which features say so many GPUs of four."""
        found = set()
        if self.labels().get(LABEL) == "4":
            found.add("labels")
        condition = self.condition()
        if condition and condition["status"] == ("True" if healthy == 4 else "False") and self.offered(COUNT) == (4, 4):
            found.add("status")
        if (self.gpu_node() or {}).get("status", {}).get("summary", {}).get("healthyGpus") == healthy:
            found.add("gpu_node")
        if self.events() and self.events()[-1]["reason"] == ("GpuHealthy" if healthy == 4 else "GpuUnhealthy"):
            found.add("events")
        return found

    def until_published(self, healthy, features):
        self.until_seen(lambda: sorted(self.published(healthy)), lambda found: found == sorted(features),
                        f"{sorted(features)} with {healthy} GPUs")

    def test_without_the_right_to_count_events_only_repeats_are_missing(self):
        rules = self.cluster.api.get(f"{ROLES}/agent.default.{self.account}")["rules"]
        right = ("events.k8s.io", "events", "patch")
        self.set_rules(without(rules, right), right, False)
        gpus = self.gpus("t4-quad")
        agent = self.reporting()
        self.until_all_is_reported(4)
        for healthy in (3, 4, 3):
            gpus.fault("come-back" if healthy == 4 else "lose", "--gpu", gpus.uuids()[1])
            self.until_all_is_reported(4, healthy=healthy)
        agent.until_logged('cannot patch resource \\"events\\"')
        self.assertEqual(set(MISSING.findall(agent.log())), {("patch", "events")})
        self.assertEqual([event["reason"] for event in self.events()], ["GpuUnhealthy", "GpuHealthy"])

    @extended
    def test_a_missing_right_is_named_costs_only_what_needs_it_and_is_used_when_it_comes(self):
        rules = self.cluster.api.get(f"{ROLES}/agent.default.{self.account}")["rules"]
        gpus = self.gpus("t4-quad")
        lost = gpus.uuids()[1]
        for right, features in RIGHTS.items():
            _, resource, verb = right
            with self.subTest(right=f"{verb} {resource}"):
                self.set_rules(without(rules, right), right, False)
                agent = self.reporting()
                agent.until_logged("registered resource=nvidia.com/gpu")
                gpus.fault("lose", "--gpu", lost)
                self.until_offered(3, capacity=4)
                agent.until_logged(f'cannot {verb} resource \\"{resource.partition("/")[0]}')
                self.until_published(3, ALL - features)
                self.assertEqual(set(MISSING.findall(agent.log())), {(verb, resource)})
                self.set_rules(rules, right, True)
                gpus.fault("come-back", "--gpu", lost)
                self.until_published(4, ALL)
                self.until_offered(4)
                self.remove_reports()
                self.cluster.api.delete(GPU_NODE)
                self.cluster.api.text("DELETE", EVENTS)
