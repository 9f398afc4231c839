#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the chart's pods run, how they are replaced, and the admission policies beside them."""
import unittest

import helm_cli
from helm_cli import merged, notes, of_file, render, section

OWN_DAEMONS = of_file("tranche: {policies: [{resource: a, share: memory, enforcement: mps}]}")
ROLLING = "type: RollingUpdate\nrollingUpdate:\nmaxUnavailable: 1"
LABEL = "nvidia.com/gpu.present"


class Notes(unittest.TestCase):
    def test_say_what_matters_for_these_values(self):
        for values, words in (({}, "set runtimeClassName"),
                              ({"config": {"map": {"a": ""}}}, "check-config"),
                              (OWN_DAEMONS, "replaced when you delete them"),
                              (merged(OWN_DAEMONS, {"updateStrategy": {"type": "RollingUpdate"}}),
                               "ends the MPS clients of each node"),
                              ({"runtimeClassName": "nvidia"}, f"label node NAME {LABEL}=true"),
                              (merged(of_file("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}"),
                                      {"mps": {"root": "/run/nvidia/mps"}}), "This chart does not start it")):
            with self.subTest(words=words):
                self.assertIn(words, notes(values))

    def test_name_the_pods_by_the_selector(self):
        self.assertIn("delete pods -l app.kubernetes.io/component=device-plugin,app.kubernetes.io/instance=t,",
                      notes(OWN_DAEMONS))
        self.assertIn("delete pods -l mine=yes --field-selector",
                      notes(merged(OWN_DAEMONS, {"selectorLabelsOverride": {"mine": "yes"}})))

    def test_do_not_speak_of_what_is_not_there(self):
        shown = notes({"nodeSelector": {"a": "b"}, "runtimeClassName": "nvidia"})
        self.assertNotIn(LABEL, shown)
        self.assertNotIn("MPS", shown)


class Replacement(unittest.TestCase):
    def strategy(self, values=None):
        return section(render(values), "updateStrategy")

    def test_is_one_node_after_the_other(self):
        self.assertEqual(self.strategy(), ROLLING)

    def test_waits_for_somebody_where_the_pod_has_mps_daemons(self):
        for values in (OWN_DAEMONS, {"mps": {"daemons": "per-node"}},
                       {"profile": "deepomatic", "mps": {"enabled": True}}):
            with self.subTest(values=values):
                self.assertEqual(self.strategy(values), "type: OnDelete")

    def test_is_as_usual_where_the_daemons_are_somebody_elses(self):
        for values in ({"mps": {"pipe": "/p", "enabled": True}}, merged(OWN_DAEMONS, {"mps": {"root": "/r"}})):
            with self.subTest(values=values):
                self.assertEqual(self.strategy(values), ROLLING)

    def test_is_what_the_user_says(self):
        own = {"updateStrategy": {"type": "RollingUpdate"}}
        self.assertEqual(self.strategy(merged(OWN_DAEMONS, own)), "type: RollingUpdate")
        self.assertEqual(self.strategy({"updateStrategy": {"type": "OnDelete"}}), "type: OnDelete")


class Nodes(unittest.TestCase):
    def test_are_all_where_the_agent_needs_no_runtime_class(self):
        self.assertNotIn("affinity:", render())

    def test_are_those_with_a_label_where_it_does(self):
        """On others its pod would never start, and stop rollouts."""
        terms = section(render({"runtimeClassName": "nvidia"}), "nodeSelectorTerms")
        self.assertIn(f'- matchExpressions: [{{"key":"{LABEL}","operator":"In","values":["true"]}}]', terms)
        # One term for each: any of the labels is enough.
        self.assertEqual(terms.count("matchExpressions"), terms.count('"key"'))

    def test_have_the_labels_that_the_documents_name(self):
        terms = section(render({"runtimeClassName": "nvidia"}), "nodeSelectorTerms")
        document = (helm_cli.DEPLOY.parent / "docs/install.md").read_text()
        for line in terms.splitlines():
            label = line.split('"key":"')[1].split('"')[0]
            self.assertTrue(f"`{label}" in document, label)

    def test_are_what_the_user_says(self):
        for own in ({"nodeSelector": {"gpu": "yes"}}, {"affinity": {"nodeAffinity": {}}}):
            with self.subTest(own=own):
                self.assertNotIn(LABEL, render({"runtimeClassName": "nvidia", **own}))


class Admission(unittest.TestCase):
    NON_ROOT = merged(OWN_DAEMONS, {"mps": {"clients": "non-root"}})

    def resources(self, values, policy="mps-clients"):
        """What the policy takes for a resource that it is about."""
        rendered = render(values)
        start = rendered.index("kind: ValidatingAdmissionPolicy\nmetadata:\n  name: " + policy)
        line = rendered[start:].partition("- name: resources\n")[2].splitlines()[0]
        return line.strip().removeprefix("expression: '[").removesuffix("]'").replace('"', "").split(",")

    def test_of_pods_is_left_alone_by_default(self):
        for values in ({}, OWN_DAEMONS, merged(OWN_DAEMONS, {"mps": {"clients": "any"}})):
            self.assertNotIn("admissionregistration", render(merged(values, helm_cli.NO_REPORTS)))

    def test_mps_resources_are_those_of_the_configuration(self):
        for values, names in (
                (OWN_DAEMONS, ["nvidia.com/a"]),
                (of_file("tranche: {policies: [{resource: x.com/b, enforcement: mps-exclusive}, {resource: c}]}"),
                 ["x.com/b"]),
                (of_file("sharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: 2}, "
                         "{name: nvidia.com/b, rename: c, replicas: 2}]}}"),
                 ["nvidia.com/c", "nvidia.com/gpu.shared"]),
                (of_file("tranche: {mps: {pipe: /p}, policies: [{resource: a, share: memory}, "
                         "{resource: b}, {resource: c, share: memory, enforcement: none}]}"), ["nvidia.com/a"]),
                ({"profile": "gpushare", "mps": {"pipe": "/p"}}, ["aliyun.com/gpu-mem"]),
                ({"profile": "deepomatic", "mps": {"enabled": True}}, ["deepomatic.com/shared-gpu"]),
                ({"config": {"name": "unseen", "default": "a"}, "mps": {"daemons": "per-gpu"},
                  "admission": {"mpsResources": ["x.com/y"]}}, ["x.com/y"])):
            with self.subTest(values=values):
                self.assertEqual(self.resources(merged(values, {"mps": {"clients": "non-root"}})), names)

    def test_file_may_ask_for_it_too(self):
        self.assertEqual(self.resources(of_file(
            "tranche: {mps: {clients: non-root}, policies: [{resource: a, enforcement: mps}]}")), ["nvidia.com/a"])

    def test_environment_is_held_for_every_resource_of_ours(self):
        values = merged(OWN_DAEMONS, {"admission": {"forbidEnvOverrides": True, "resources": ["x.com/y"]}})
        self.assertEqual(self.resources(values, "environment"), ["nvidia.com/a", "x.com/y"])
        self.assertIn("startsWith('nvidia.com/')", render(values))

    def test_both_have_a_binding_with_what_the_values_say(self):
        values = merged({**self.NON_ROOT, **helm_cli.NO_REPORTS}, {"admission": {"forbidEnvOverrides": True, "actions": ["Warn", "Audit"],
                                                      "exemptNamespaces": ["a", "b"]}})
        rendered = render(values)
        self.assertEqual(rendered.count("kind: ValidatingAdmissionPolicyBinding"), 2)
        self.assertEqual(rendered.count('validationActions: ["Warn","Audit"]'), 2)
        self.assertEqual(rendered.count('values: ["a","b"]'), 2)

    def test_releases_have_policies_of_their_own(self):
        name = "name: mps-clients.here.one-tranche-device-plugin\n"
        self.assertIn(name, render(self.NON_ROOT, "one", "here"))
        self.assertNotIn(name, render(self.NON_ROOT, "one", "there"))

    def test_what_cannot_be_held_is_refused(self):
        for values, kubernetes, words in (
                ({"mps": {"clients": "non-root"}}, "1.36.0", "Name them in admission.mpsResources"),
                (self.NON_ROOT, "1.29.4", "need Kubernetes 1.30 or newer"),
                ({"admission": {"forbidEnvOverrides": True}}, "1.29.4", "need Kubernetes 1.30 or newer"),
                ({"mps": {"clients": "root"}}, "1.36.0", "value must be one of 'any', 'non-root'"),
                ({"admission": {"resources": ["gpu"]}}, "1.36.0", "does not match pattern"),
                ({"admission": {"actions": []}}, "1.36.0", "minItems")):
            with self.subTest(values=values):
                with self.assertRaises(helm_cli.RenderError) as refused:
                    render(values, kubernetes=kubernetes)
                self.assertIn(words, str(refused.exception))


if __name__ == "__main__":
    helm_cli.require()
    unittest.main()
