#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the chart makes for the agent at the API server: rights, policy, CRD, and configurations by label."""
import unittest

import helm_cli
from helm_cli import NO_REPORTS, environment, merged, notes, objects, render

NODE = ("", "nodes")
STATUS = ("", "nodes/status")
GPU_NODE = ("gpu.tranche.dev", "gpunodes")
GPU_NODE_STATUS = ("gpu.tranche.dev", "gpunodes/status")
EVENTS = ("events.k8s.io", "events")
READ = {"get", "list", "watch"}
SEVERAL = {"config": {"map": {"a": "version: v1", "b": "version: v1"}}}
# Each feature alone, and the rights that it needs besides those to read the own Node.
FEATURES = {
    "gpuNode": ({"gpuNode": {"enabled": True}}, {GPU_NODE: {"create", "patch"}, GPU_NODE_STATUS: {"patch"}}),
    "events": ({"events": {"enabled": True}}, {EVENTS: {"create", "patch"}}),
    "condition": ({"nodeCondition": "GpusHealthy"}, {STATUS: {"patch"}}),
    "resources": ({"extendedResources": {"a.com/n": 2}}, {STATUS: {"patch"}}),
    "labels": ({"gfd": {"enabled": True}}, {NODE: {"patch"}}),
    "byLabel": (SEVERAL, {}),
    "theirs": ({"config": {"name": "theirs"}}, {}),
}


def rights(made):
    """(group, resource) to verbs, of all cluster roles."""
    found = {}
    for role in made.get("ClusterRole", []):
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def has_token(made):
    return made["DaemonSet"][0]["spec"]["template"]["spec"]["automountServiceAccountToken"]


class Rights(unittest.TestCase):
    def test_are_none_where_no_feature_needs_the_api_server(self):
        for values in ({}, {"config": {"map": {"a": "version: v1"}}},
                       {"config": {"name": "theirs", "default": "a", "byLabel": False}},
                       {"gfd": {"enabled": True, "output": "file"}},
                       {"gpuNode": {"enabled": True}, "kubeconfig": "/mine"}):
            with self.subTest(values=values):
                made = objects(merged(NO_REPORTS, values))
                self.assertEqual(set(made) - {"ConfigMap", "CustomResourceDefinition"}, {"ServiceAccount", "DaemonSet"})
                self.assertFalse(has_token(made))

    def test_are_those_of_each_feature_and_no_others(self):
        for name, (values, expected) in FEATURES.items():
            with self.subTest(feature=name):
                made = objects(merged(NO_REPORTS, values))
                expected = {**expected, NODE: READ | expected.get(NODE, set())}
                self.assertEqual(rights(made), expected)
                self.assertTrue(has_token(made))

    def test_are_asked_for_by_the_file_too(self):
        file = "tranche: {cluster: {gpuNode: true, events: true, condition: A, extendedResources: ['x.com/n=gpus']}}"
        left_to_it = {"gpuNode": {"enabled": None}, "events": {"enabled": None}, "nodeCondition": None}
        made = objects(merged(left_to_it, {"config": {"map": {"a": file}}}))
        self.assertEqual(rights(made), {NODE: READ, STATUS: {"patch"}, EVENTS: {"create", "patch"},
                                        GPU_NODE: {"create", "patch"}, GPU_NODE_STATUS: {"patch"}})
        self.assertEqual(policy_list(made, "conditions"), '["A"]')
        self.assertEqual(policy_list(made, "resources"), '["x.com/n"]')
        self.assertEqual(rights(objects(merged(NO_REPORTS, {"config": {"map": {"a": "tranche: {cluster: {events: true}}"}}}))),
                         {}, "a value wins over the file")

    def test_are_bound_to_the_account_alone(self):
        for values, account in (({}, "tranche-device-plugin"), ({"serviceAccount": {"create": False, "name": "x"}}, "x")):
            made = objects(values)
            binding, = made["ClusterRoleBinding"]
            self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}])
            self.assertEqual(binding["roleRef"]["name"], made["ClusterRole"][0]["metadata"]["name"])

    def test_of_releases_have_names_of_their_own(self):
        def names(**options):
            return {one["metadata"]["name"] for kind, many in objects(**options).items() for one in many
                    if kind.startswith(("ClusterRole", "Validating"))}
        self.assertEqual(len(names()), 1)
        self.assertFalse(names() & names(namespace="other"))
        self.assertFalse(names() & names(release="other"))


def policy_list(made, variable):
    policy, = made["ValidatingAdmissionPolicy"]
    return next(each["expression"] for each in policy["spec"]["variables"] if each["name"] == variable)


class Policy(unittest.TestCase):
    def test_confines_the_account_that_has_the_rights(self):
        made = objects({"serviceAccount": {"create": False, "name": "x"}})
        policy, = made["ValidatingAdmissionPolicy"]
        self.assertEqual([each["expression"] for each in policy["spec"]["matchConditions"]],
                         ["request.userInfo.username == 'system:serviceaccount:kube-system:x'"])
        binding, = made["ValidatingAdmissionPolicyBinding"]
        self.assertEqual(binding["spec"], {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]})

    def test_judges_everything_that_the_account_may_write(self):
        made = objects({"gfd": {"enabled": True}, "extendedResources": {"a.com/n": 1}})
        judged = {(group, resource) for rule in made["ValidatingAdmissionPolicy"][0]["spec"]["matchConstraints"]["resourceRules"]
                  for group in rule["apiGroups"] for resource in rule["resources"]}
        self.assertEqual({what for what, verbs in rights(made).items() if verbs - READ} - judged, set())

    def test_allows_what_the_features_write(self):
        made = objects({**NO_REPORTS, "events": {"enabled": True}})
        for variable in ("labelPrefixes", "conditions", "resources"):
            self.assertEqual(policy_list(made, variable), "[]")
        made = objects({"nodeCondition": "A", "extendedResources": {"b.com/n": 1, "a.com/n": "gpus"}, "gfd": {"enabled": True}})
        self.assertEqual(policy_list(made, "labelPrefixes"), '["nvidia.com/","gpu.tranche.dev/"]')
        self.assertEqual(policy_list(made, "conditions"), '["A"]')
        self.assertEqual(policy_list(made, "resources"), '["a.com/n","b.com/n"]')

    def test_is_left_out_where_it_cannot_be_or_is_not_wanted_and_the_notes_say_so(self):
        self.assertIn("ValidatingAdmissionPolicy", objects(kubernetes="1.30.0-gke.1"))
        self.assertNotIn("Nothing confines an agent", notes({}))
        self.assertNotIn("ValidatingAdmissionPolicy", objects(kubernetes="1.29.4"))
        self.assertIn("Nothing confines an agent to its own node", notes({}, kubernetes="1.29.4"))
        self.assertIn("needs Kubernetes 1.30, but this is v1.29.4", notes({}, kubernetes="1.29.4"))
        off = {"admission": {"ownNodeOnly": False}}
        self.assertNotIn("ValidatingAdmissionPolicy", objects(off))
        self.assertIn("admission.ownNodeOnly is off", notes(off))
        self.assertNotIn("Nothing confines an agent", notes(NO_REPORTS, kubernetes="1.29.4"))


def objects_of(schema, path="status"):
    """Every level of a schema that is an object, with its path."""
    if schema.get("type") == "object":
        yield path, schema
        for name, each in schema.get("properties", {}).items():
            yield from objects_of(each, f"{path}.{name}")
    if schema.get("type") == "array":
        yield from objects_of(schema["items"], f"{path}[]")


def fields_of(schema):
    for _, level in objects_of(schema):
        yield from level.get("properties", {}).items()


class Crd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.crd, = objects()["CustomResourceDefinition"]
        cls.version, = cls.crd["spec"]["versions"]
        cls.schema = cls.version["schema"]["openAPIV3Schema"]
        cls.status = cls.schema["properties"]["status"]

    def test_has_the_names_that_the_agent_uses(self):
        spec = self.crd["spec"]
        self.assertEqual(self.crd["metadata"]["name"], f"{spec['names']['plural']}.{spec['group']}")
        self.assertEqual((spec["group"], spec["scope"], spec["names"]["kind"], spec["names"]["shortNames"]),
                         ("gpu.tranche.dev", "Cluster", "GpuNode", ["gpun"]))
        self.assertEqual((self.version["name"], self.version["subresources"]), ("v1alpha1", {"status": {}}))
        self.assertNotIn("spec", self.schema["properties"])

    def test_keeps_what_a_newer_agent_writes(self):
        levels = dict(objects_of(self.status))
        self.assertIn("status.resources[].devices[]", levels)
        self.assertIn("status.gpus[].migDevices[].reasons[]", levels)
        for path, level in levels.items():
            self.assertIs(level.get("x-kubernetes-preserve-unknown-fields"), True, path)
        for name, field in fields_of(self.status):
            self.assertNotIn("enum", field, name)

    def test_is_structural_with_a_merge_rule_for_every_list(self):
        for name, field in fields_of(self.status):
            self.assertIn(field.get("type"), ("object", "array", "string", "integer", "boolean"), name)
            if field["type"] == "array":
                keys = field.get("x-kubernetes-list-map-keys", [])
                self.assertEqual(field["x-kubernetes-list-type"], "map" if keys else "atomic", name)
                self.assertEqual(field["items"].get("required", []), keys, name)

    def test_columns_show_fields_that_there_are(self):
        for column in self.version["additionalPrinterColumns"]:
            level = self.schema
            for part in column["jsonPath"].split(".")[1:]:
                level = level["properties"][part]
            kind = "date" if level.get("format") == "date-time" else level["type"]
            self.assertEqual(column["type"], kind, column)

    def test_stays_when_the_release_goes_and_can_be_left_out(self):
        self.assertEqual(self.crd["metadata"]["annotations"], {"helm.sh/resource-policy": "keep"})
        for values in ({"gpuNode": {"crd": False}}, {"gpuNode": {"enabled": False}}):
            self.assertNotIn("CustomResourceDefinition", objects(values))


class ByLabel(unittest.TestCase):
    def test_several_configurations_are_a_folder_for_the_agent(self):
        rendered = render(merged(SEVERAL, {"config": {"default": "b"}}))
        self.assertIn("mountPath: /available-configs\n              readOnly: true\n", rendered)
        self.assertNotIn("subPath", rendered)
        variables = environment(rendered)
        self.assertEqual((variables["CONFIG_DIR"], variables["DEFAULT_CONFIG"], variables["FALLBACK_STRATEGIES"]),
                         ("/available-configs", "b", "named,single"))
        self.assertNotIn("CONFIG_FILE", variables)
        self.assertEqual(rendered.count("- name: tranche-device-plugin\n"), 1, "no sidecar")

    def test_one_configuration_is_a_file_as_before(self):
        for values in ({"config": {"map": {"a": ""}}}, merged(SEVERAL, {"config": {"default": "a", "byLabel": False}})):
            variables = environment(render(values))
            self.assertEqual(variables["CONFIG_FILE"], "/etc/tranche/a")
            for name in ("CONFIG_DIR", "DEFAULT_CONFIG", "FALLBACK_STRATEGIES"):
                self.assertNotIn(name, variables)

    def test_pod_is_made_for_all_of_them(self):
        rendered = render({"config": {"map": {
            "a": "version: v1", "cdi": "flags: {plugin: {deviceListStrategy: cdi-cri}}",
            "mig": "flags: {migStrategy: mixed}", "mps": "tranche: {mps: {daemons: per-gpu}}"}}})
        for words in ("mountPath: /var/run/cdi\n", "mountPath: /run/tranche/mps\n", "privileged: true\n",
                      "NVIDIA_MIG_MONITOR_DEVICES", "type: OnDelete\n"):
            self.assertIn(words, rendered)

    def test_pod_is_made_for_the_one_that_all_nodes_use(self):
        mps = {"config": {"map": {"a": "", "b": "tranche: {mps: {daemons: per-gpu}}"}, "default": "a", "byLabel": False}}
        self.assertNotIn("/run/tranche/mps", render(mps))

    def test_policies_for_pods_know_the_resources_of_all(self):
        values = {"admission": {"forbidEnvOverrides": True}, "config": {"map": {
            "a": "tranche: {policies: [{resource: x.com/a}]}", "b": "tranche: {policies: [{resource: x.com/b}]}"}}}
        self.assertIn('["x.com/a","x.com/b"]', render(values))

    def test_notes_say_how_to_choose(self):
        self.assertIn("kubectl label node NAME nvidia.com/device-plugin.config=ENTRY", notes(SEVERAL))
        self.assertIn("kubectl label node NAME x.com/y=ENTRY", notes(merged(SEVERAL, {"config": {"label": "x.com/y"}})))


class Labels(unittest.TestCase):
    def test_by_file_need_the_folder_of_node_feature_discovery_and_no_rights(self):
        rendered = render({"gfd": {"enabled": True, "output": "file"}})
        folder = "/etc/kubernetes/node-feature-discovery/features.d"
        self.assertIn(f"mountPath: {folder}\n", rendered)
        self.assertIn(f"path: {folder}\n            type: DirectoryOrCreate\n", rendered)
        self.assertEqual(environment(rendered)["GFD_OUTPUT_FILE"], f"{folder}/gfd")
        self.assertNotIn("features.d", render({"gfd": {"enabled": True}}))
        self.assertNotIn("NODE_LABELS", environment(render({"gfd": {"output": "file"}})))


class Refusals(unittest.TestCase):
    def test_say_what_is_wrong(self):
        for values, words in (
                ({"gpuNode": True}, "want object"),
                ({"gpuNode": {"enabled": "yes"}}, "want null or boolean"),
                ({"gpuNode": {"name": "x"}}, "'name' not allowed"),
                ({"events": {"enabled": 1}}, "want null or boolean"),
                ({"nodeCondition": "a b"}, "does not match pattern"),
                ({"extendedResources": {"gpus": 1}}, "does not match pattern"),
                ({"extendedResources": {"a.com/n": "many"}}, "value must be one of 'gpus', 'healthy-gpus'"),
                ({"extendedResources": {"a.com/n": -1}}, "minimum"),
                ({"extendedResources": {"a.com/n": 1.5}}, "want integer"),
                ({"gfd": {"output": "nfd"}}, "value must be one of 'api', 'file'"),
                ({"gfd": {"outputFile": "/a"}}, "gfd.outputFile is for gfd.output=file"),
                ({"gfd": {"colour": 1}}, "'colour' not allowed"),
                ({"config": {"label": "a b"}}, "does not match pattern"),
                ({"kubeconfig": "here"}, "does not match pattern")):
            with self.subTest(values=values):
                with self.assertRaises(helm_cli.RenderError) as refused:
                    render(values)
                self.assertIn(words, str(refused.exception))


if __name__ == "__main__":
    helm_cli.require()
    unittest.main()
