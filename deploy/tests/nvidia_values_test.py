#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values of NVIDIA's chart, one by one: each changes something here, or is refused with what to do, or
has nothing to act on, which docs/install.md says."""
import re
import unittest

import helm_cli
from helm_cli import environment, merged, nested, of_file, render

INSTALL = helm_cli.DEPLOY.parent / "docs/install.md"
SHARED_BY_MPS = of_file("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}")

# Every value that its chart has, with one that is not the default, and what becomes of it here: None,
# another rendering; a text, the refusal. With what else it needs.
VALUES = {
    "config.name": ("theirs", None, {"config": {"default": "a"}}),
    "config.map": ({"a": "version: v1"}, None, {}),
    "config.default": ("a", "neither config.map nor config.name", {}),
    "config.fallbackStrategies": (["empty"], None, {"config": {"name": "theirs"}}),
    "compatWithCPUManager": (True, None, {}),
    "migStrategy": ("mixed", None, {}),
    "failOnInitError": (True, None, {}),
    "deviceListStrategy": ("volume-mounts", None, {}),
    "deviceIDStrategy": ("index", None, {}),
    "nvidiaDriverRoot": ("/run/nvidia/driver", None, {}),
    "nvidiaDevRoot": ("/", None, {}),
    "gdrcopyEnabled": (True, None, {}),
    "gdsEnabled": (True, None, {}),
    "mofedEnabled": (True, None, {}),
    "deviceDiscoveryStrategy": ("tegra", "keep NVIDIA's plugin on Tegra", {}),
    "nameOverride": ("other", None, {}),
    "fullnameOverride": ("other", None, {}),
    "namespaceOverride": ("other", None, {}),
    "selectorLabelsOverride": ({"app": "x"}, None, {}),
    "allowDefaultNamespace": (False, "allowDefaultNamespace is false", {"namespaceOverride": "default"}),
    "imagePullSecrets": ([{"name": "s"}], None, {}),
    "image.repository": ("nvcr.io/nvidia/k8s-device-plugin", "which is NVIDIA's plugin", {}),
    "image.pullPolicy": ("Always", None, {}),
    "image.tag": ("v9", None, {}),
    "updateStrategy": ({"type": "OnDelete"}, None, {}),
    "podAnnotations": ({"a": "b"}, None, {}),
    "podSecurityContext": ({"fsGroup": 7}, None, {}),
    "securityContext": ({"runAsUser": 7}, None, {}),
    "resources": ({"limits": {"memory": "1Gi"}}, None, {}),
    "nodeSelector": ({"a": "b"}, None, {}),
    "affinity": ({"nodeAffinity": {}}, None, {}),
    "tolerations": ([], None, {}),
    "priorityClassName": ("", None, {}),
    "runtimeClassName": ("nvidia", None, {}),
    "devicePlugin.enabled": (False, "Uninstall the release", {}),
    "devicePlugin.enableHostNetwork": (True, None, {}),
    "devicePlugin.containers.main.env": ([{"name": "A", "value": "b"}], None, {}),
    "gfd.enabled": (True, None, {}),
    "gfd.noTimestamp": (True, None, {"gfd": {"enabled": True}}),
    "nfd.enabled": (True, "Install it by its own chart", {}),
    "mps.root": ("/run/nvidia/mps", None, {}),
    "mps.enableHostPID": (False, "host's process numbers", SHARED_BY_MPS),
    "mps.enableHostNetwork": (True, None, SHARED_BY_MPS),
    "cdi.nvidiaHookPath": ("/usr/bin/hook", None, {}),
    "cdi.featureFlags": ("disable-ipc-discoverer", None, {}),
}
# What has nothing to act on in this chart, and is taken.
IDLE = {
    "componentSelectorLabels.enabled": True,  # the selector always has the component
    "gfd.nameOverride": "x", "gfd.namespaceOverride": "x", "gfd.sleepInterval": "1s",
    "gfd.securityContext": {}, "gfd.enableHostNetwork": True,
    "nfd.nameOverride": "x", "nfd.master": {}, "nfd.worker": {},
}


class NvidiasValues(unittest.TestCase):
    # The defaults of its chart, but for the image.
    DEFAULTS = {
        "config": {"name": "", "map": {}, "default": "", "fallbackStrategies": ["named", "single"]},
        **dict.fromkeys(("compatWithCPUManager", "migStrategy", "failOnInitError",
                         "deviceListStrategy", "deviceIDStrategy", "nvidiaDriverRoot",
                         "gdrcopyEnabled", "gdsEnabled", "mofedEnabled",
                         "deviceDiscoveryStrategy", "runtimeClassName")),
        "nameOverride": "", "fullnameOverride": "", "namespaceOverride": "",
        "selectorLabelsOverride": {}, "componentSelectorLabels": {"enabled": False},
        "allowDefaultNamespace": False, "imagePullSecrets": [],
        "image": {"pullPolicy": "IfNotPresent", "tag": ""},
        "updateStrategy": {"type": "RollingUpdate"}, "podAnnotations": {},
        "podSecurityContext": {}, "securityContext": {}, "resources": {}, "nodeSelector": {},
        "affinity": {"nodeAffinity": {}}, "priorityClassName": "system-node-critical",
        "devicePlugin": {"enabled": True, "containers": {"main": {
            "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}}},
        "gfd": {"enabled": False, "noTimestamp": None, "securityContext": {"privileged": True}},
        "nfd": {"nameOverride": "node-feature-discovery", "master": {}, "worker": {}},
        "mps": {"root": "/run/nvidia/mps", "enableHostPID": True},
        "cdi": {"nvidiaHookPath": None, "featureFlags": None},
    }
    REFUSED = (
        ({"nfd": {"enabled": True}}, "Install it by its own chart"),
        ({"mps": {"pipe": "/p", "daemons": "per-gpu"}}, "that somebody else runs"),
        ({"kubeletSocket": "/k/s", "pluginDirectory": "/k"}, "Keep one"),
        ({"devicePlugin": {"enabled": False}}, "Uninstall the release"),
        ({"image": {"repository": "nvcr.io/nvidia/k8s-device-plugin"}}, "Leave out image.reposito"),
        ({"deviceDiscoveryStrategy": "tegra"}, "keep NVIDIA's plugin on Tegra"),
        ({"config": {"map": {"a": "", "b": "tranche: {profile: gcp}"}}},
         "config.map: the entries a and b need different pods (kubeletFolder"),
        ({"config": {"map": {"a": "", "b": ""}, "byLabel": False}}, "config.byLabel=false needs config.default"),
        ({"config": {"map": {"a": ""}, "name": "b"}}, "Keep one"),
        ({"config": {"map": {"a": ""}, "default": "b"}}, "but config.map has a"),
        ({"config": {"map": {"a": "x: ["}}}, "config.map.a is no YAML"),
        ({"config": {"name": "a", "byLabel": False}}, "config.byLabel=false needs config.default"),
        ({"config": {"byLabel": True}}, "there are no entries to choose from"),
        ({"config": {"default": "a"}}, "neither config.map nor config.name"),
        ({"config": {"name": "a", "fallbackStrategies": ["first"]}}, "one of 'named', 'single', 'empty'"),
        ({"configFile": "/a", "config": {"map": {"a": ""}}}, "configFile and config are both"),
        ({"containerPath": "/a"}, "give both"),
        ({"containerVulkanIcdPath": "/a"}, "give both"),
        ({"allowDefaultNamespace": False, "namespaceOverride": "default"}, "allowDefaultNamespace"),
        ({"migStrategy": "mixd"}, "value must be one of 'none', 'single', 'mixed'"),
        ({"nodeSelector": {"a": True}}, "want string"),
        ({"podLabels": {"a": 1}}, "want string"),
        ({"podAnnotations": {"a": True}}, "want string"),
        ({"selectorLabelsOverride": {"a": True}}, "want string"),
        ({"serviceAccount": {"annotations": {"a": True}}}, "want string"),
        ({"noTimestamp": True}, "'noTimestamp' not allowed"),
        ({"cdi": {"unknown": 1}}, "'unknown' not allowed"),
    )

    def test_each_changes_something_or_is_refused_with_what_to_do(self):
        for key, (value, refusal, others) in VALUES.items():
            with self.subTest(key=key):
                values = merged(others, nested(key, value))
                if refusal is None:
                    self.assertNotEqual(render(values), self.rendered_or_nothing(others))
                    continue
                with self.assertRaises(helm_cli.RenderError) as refused:
                    render(values)
                self.assertIn(refusal, str(refused.exception))

    @staticmethod
    def rendered_or_nothing(values):
        """Where the value is needed, there is nothing without it."""
        try:
            return render(values)
        except helm_cli.RenderError:
            return ""

    def test_what_has_nothing_to_act_on_is_in_the_documents(self):
        table = INSTALL.read_text()
        for key, value in IDLE.items():
            with self.subTest(key=key):
                self.assertEqual(render(nested(key, value)), render())
                first = key.split(".", maxsplit=1)[0]
                self.assertTrue(re.search(rf"`{first}\.(\*|{key.partition('.')[2]})`", table))

    def test_all_of_its_defaults_are_looked_at(self):
        """The defaults above are its file's; none of them is in neither table."""
        def leaves(values, path=()):
            for key, value in values.items():
                here = ".".join((*path, key))
                if isinstance(value, dict) and value and here not in VALUES and here not in IDLE:
                    yield from leaves(value, (*path, key))
                else:
                    yield here
        self.assertEqual([key for key in leaves(self.DEFAULTS) if key not in VALUES and key not in IDLE], [])

    def test_defaults_are_taken(self):
        self.assertEqual(environment(render(self.DEFAULTS)),
                         {"MPS_ROOT": "/run/nvidia/mps", "NVIDIA_VISIBLE_DEVICES": "all", **helm_cli.REPORTS})

    def test_what_is_not_served_is_refused_with_what_to_do(self):
        for values, words in self.REFUSED:
            with self.subTest(values=values):
                with self.assertRaises(helm_cli.RenderError) as refused:
                    render(values)
                self.assertIn(words, str(refused.exception))


if __name__ == "__main__":
    helm_cli.require()
    unittest.main()
