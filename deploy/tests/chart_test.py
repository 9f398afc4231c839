#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the chart makes of its values, rendered by real Helm.

chart_test.py PROGRAM: the built tranche-device-plugin, whose flags the chart is held to.
"""
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import helm_cli
from helm_cli import environment, merged, nested, of_file, render, section

PROGRAM = ""

# For each flag, or variable without one: a value of the chart, and what it becomes.
REACHED_BY = {
    "--mig-strategy": ("migStrategy", "mixed", "mixed"),
    "--exclude-devices": ("excludeDevices", [3, "07:00.0", "*T4*"], "3,07:00.0,*T4*"),
    "--shared-devices-allocation-policy": ("sharedDevicesAllocationPolicy", "packed", "packed"),
    "--profile": ("profile", "gpushare", "gpushare"),
    "--gpu-duplication-factor": ("gpuDuplicationFactor", 8, "8"),
    "--memory-unit": ("memoryUnit", "256MiB", "256MiB"),
    "--mps": ("mps.enabled", True, "true"),
    "--mps-pipe": ("mps.pipe", "/root/nvidia-mps", "/root/nvidia-mps"),
    "--mps-daemons": ("mps.daemons", "outside", "outside"),
    "--mps-dir": ("mps.dir", "/run/mps", "/run/mps"),
    "--mps-clients": ("mps.clients", "any", "any"),
    "--mps-end-holders": ("mps.endHolders", False, "false"),
    "--mps-shared-memory": ("mps.sharedMemory", True, "true"),
    "--mps-shared-memory-size": ("mps.sharedMemorySize", "1GiB", "1GiB"),
    "--mps-root": ("mps.root", "/run/nvidia/mps", "/run/nvidia/mps"),
    "--nested-exposure": ("nested.exposure", "all", "all"),
    "--nested-dir": ("nested.dir", "/var/lib/nested", "/var/lib/nested"),
    "--nested-gpu-env": ("nested.gpuEnvMount", "pod", "pod"),
    "--nested-guest": ("nested.guest", True, "true"),
    "--host-grants": ("nested.hostGrants", "/run/grants", "/run/grants"),
    "--gpu-env": ("nested.gpuEnv", "/run/gpu.env", "/run/gpu.env"),
    "--device-list-strategy": ("deviceListStrategy", ["envvar", "cdi-cri"], "envvar,cdi-cri"),
    "--device-id-strategy": ("deviceIDStrategy", "index", "index"),
    "--pass-device-specs": ("passDeviceSpecs", True, "true"),
    "--gdrcopy-enabled": ("gdrcopyEnabled", True, "true"),
    "--gds-enabled": ("gdsEnabled", False, "false"),
    "--mofed-enabled": ("mofedEnabled", True, "true"),
    "--imex-channel-ids": ("imex.channelIDs", [0], "0"),
    "--imex-required": ("imex.required", True, "true"),
    "--host-path": ("hostPath", "/opt/driver", "/opt/driver"),
    "--container-path": ("containerPath", "/opt/there", "/opt/there"),
    "--host-vulkan-icd-path": ("hostVulkanIcdPath", "/opt/icd.d", "/opt/icd.d"),
    "--container-vulkan-icd-path": ("containerVulkanIcdPath", "/icd.d", "/icd.d"),
    "--cdi-annotation-prefix": ("cdi.annotationPrefix", "example.com/", "example.com/"),
    "--nvidia-cdi-hook-path": ("cdi.nvidiaHookPath", "/usr/bin/hook", "/usr/bin/hook"),
    "--cdi-toolkit-version": ("cdi.toolkitVersion", "1.17.8", "1.17.8"),
    "--cdi-dir": ("cdi.dir", "/etc/cdi", "/etc/cdi"),
    "--cdi-feature-flags": ("cdi.featureFlags", "disable-ipc-discoverer", "disable-ipc-discoverer"),
    "--cdi-disable-hooks": ("cdi.disableHooks", ["chmod", "all"], "chmod,all"),
    "--fail-on-init-error": ("failOnInitError", True, "true"),
    "--device-discovery-strategy": ("deviceDiscoveryStrategy", "nvml", "nvml"),
    "--driver-root": ("nvidiaDriverRoot", "/run/nvidia/driver", "/run/nvidia/driver"),
    "--dev-root": ("nvidiaDevRoot", "/", "/"),
    "--driver-root-ctr-path": ("containerDriverRoot", "/driver", "/driver"),
    "--host-root": ("hostRoot", "/host", "/host"),
    "--driver-call-timeout": ("driverCallTimeout", "20s", "20s"),
    "--health-check-interval": ("healthCheckInterval", "1m30s", "1m30s"),
    "DP_DISABLE_HEALTHCHECKS": ("disableHealthchecks", [48, 63], "48,63"),
    "DP_ENABLE_HEALTHCHECKS": ("enableHealthchecks", "all", "all"),
    "XID_CONFIG": ("xidConfig", [61, 31], "61,31"),
    "--gpu-node": ("gpuNode.enabled", False, "false"),
    "--node-events": ("events.enabled", False, "false"),
    "--node-condition": ("nodeCondition", "example.com/Gpus", "example.com/Gpus"),
    "--extended-resources": ("extendedResources", {"a.com/n": "gpus", "b.com/n": 1000000},
                             "a.com/n=gpus,b.com/n=1000000"),
    "--node-labels": ("gfd.output", "file", "file"),
    "--output-file": ("gfd.outputFile", "/features/gpu", "/features/gpu"),
    "--machine-type-file": ("gfd.machineTypeFile", "/etc/machine-type", "/etc/machine-type"),
    "--no-timestamp": ("gfd.noTimestamp", True, "true"),
    "--kubeconfig": ("kubeconfig", "/mine/kubeconfig", "/mine/kubeconfig"),
    "--config-dir": ("config.byLabel", True, "/available-configs"),
    "--config-label": ("config.label", "example.com/config", "example.com/config"),
    "--default-config": ("config.default", "a", "a"),
    "--fallback-strategies": ("config.fallbackStrategies", ["single", "empty"], "single,empty"),
    "--config-file": ("configFile", "/mine/config.yaml", "/mine/config.yaml"),
    "--node-name": ("nodeName", "gpu-node-7", "gpu-node-7"),
    "--kubelet-socket": ("kubeletSocket", "/plugins/kubelet.sock", "/plugins/kubelet.sock"),
    "--plugin-directory": ("pluginDirectory", "/device-plugin", "/device-plugin"),
    "--enable-flock-wait": ("enableFlockWait", True, "true"),
    "--pod-resources-socket": ("podResourcesSocket", "/p/kubelet.sock", "/p/kubelet.sock"),
    "--kubelet-checkpoint": ("kubeletCheckpoint", "/c/checkpoint", "/c/checkpoint"),
    "--state-dir": ("stateDir", "/var/lib/tranche", "/var/lib/tranche"),
    "--log-format": ("logFormat", "json", "json"),
    "--v": ("verbosity", 4, "--v=4"),  # has no variable
}
WITHOUT_VALUE = {"--help", "--version"}
# What else a value needs.
WITH = {
    "--container-path": {"hostPath": "/opt/driver"},
    "--container-vulkan-icd-path": {"hostVulkanIcdPath": "/opt/icd.d"},
    "--node-labels": {"gfd": {"enabled": True}},
    "--output-file": {"gfd": {"enabled": True, "output": "file"}},
    **dict.fromkeys(("--machine-type-file", "--no-timestamp"), {"gfd": {"enabled": True}}),
    **dict.fromkeys(("--config-dir", "--config-label", "--default-config", "--fallback-strategies"),
                    {"config": {"name": "theirs"}}),
}


def flags_of_the_program():
    """Flag, or variable without one, to variable; from --help."""
    text = subprocess.run([PROGRAM, "--help"], text=True, capture_output=True, check=True).stdout
    text = re.sub(r"\nAccepted without effect:\n.*?\n\n(?=\S)", "\n", text, flags=re.DOTALL)
    _, _, text = text.partition("\nResources and sharing:\n")
    found = {}
    for head, body in re.findall(r"^  (\S.*)\n((?:      .*\n)+)", text, re.MULTILINE):
        variable = re.search(r"environment\s+([A-Z_]+)", " ".join(body.split()))
        name = head.split()[0].rstrip(",")
        found[name] = name if "(environment only)" in head else variable and variable[1]
    return found


class Flags(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.flags = {name: variable for name, variable in flags_of_the_program().items()
                     if name not in WITHOUT_VALUE}

    def test_are_found_in_the_programs_help(self):
        self.assertEqual(self.flags["--mig-strategy"], "MIG_STRATEGY")
        self.assertIsNone(self.flags["--v"])
        self.assertNotIn("--vmodule", self.flags)

    def test_each_has_a_value_in_this_table(self):
        self.assertEqual(sorted(self.flags), sorted(REACHED_BY))

    def test_each_value_reaches_its_flag(self):
        for flag, variable in self.flags.items():
            key, value, expected = REACHED_BY[flag]
            with self.subTest(flag=flag, key=key):
                rendered = render(merged(WITH.get(flag, {}), nested(key, value)))
                if variable is None:
                    self.assertIn(f"- {expected}\n", rendered)
                else:
                    self.assertEqual(environment(rendered)[variable], expected)

    def test_each_value_stands_in_the_values_file(self):
        defaults = (helm_cli.CHART / "values.yaml").read_text()
        for key, _, _ in REACHED_BY.values():
            indent = "  " * key.count(".")
            name = key.rpartition(".")[2]
            self.assertRegex(defaults, rf"(?m)^{indent}{name}:", key)

    def test_few_are_set_by_default(self):
        self.assertEqual(environment(render()), {"FAIL_ON_INIT_ERROR": "false", **helm_cli.REPORTS})

    def test_null_leaves_a_flag_to_the_program(self):
        values = dict.fromkeys(("failOnInitError", "nodeCondition"))
        values.update(gpuNode={"enabled": None}, events={"enabled": None})
        self.assertEqual(environment(render(values)), {})

    def test_the_node_is_named_as_the_cluster_names_it(self):
        self.assertRegex(render(), r"- name: NODE_NAME\n +valueFrom:\n +fieldRef:\n +fieldPath: spec.nodeName\n")
        self.assertNotIn("spec.nodeName", render({"nodeName": "gpu-node-7"}))

    def test_all_together_render(self):
        values = {}
        for flag, (key, value, _) in REACHED_BY.items():
            values = merged(values, merged(WITH.get(flag, {}), nested(key, value)))
        del values["pluginDirectory"]  # not together with kubeletSocket
        del values["configFile"]  # not together with config
        self.assertEqual(len(environment(render(values))),
                         len(REACHED_BY) - 3 + len({"NVIDIA_MIG_MONITOR_DEVICES"}))


class Chart(unittest.TestCase):
    def test_passes_strict_lint(self):
        helm_cli.run("lint", "--strict", helm_cli.CHART)

    def test_has_the_programs_version(self):
        printed = subprocess.run([PROGRAM, "version"], text=True, capture_output=True, check=True)
        version = printed.stdout.split()[-1]
        chart = (helm_cli.CHART / "Chart.yaml").read_text()
        self.assertIn(f"\nversion: {version}\n", chart)
        self.assertIn(f'\nappVersion: "{version}"\n', chart)
        self.assertIn(f"image: localhost/tranche-device-plugin:{version}\n", render())

    def test_image_can_be_named_by_digest(self):
        digest = "sha256:" + "0" * 64
        rendered = render({"image": {"repository": "example.com/agent", "digest": digest}})
        self.assertIn(f"image: example.com/agent@{digest}\n", rendered)

    def test_selector_does_not_follow_the_names(self):
        plain = section(render(), "matchLabels")
        renamed = section(render({"nameOverride": "other", "fullnameOverride": "else"}),
                          "matchLabels")
        self.assertEqual(plain, renamed)
        self.assertIn("component: device-plugin", plain)


class Examples(unittest.TestCase):
    """End-to-end stories run them; these need no cluster."""
    FILES = sorted((helm_cli.DEPLOY / "examples").glob("*/values.yaml"))

    def test_render(self):
        self.assertEqual(len(self.FILES), 3)
        for file in self.FILES:
            with self.subTest(example=file.parent.name):
                helm_cli.run("template", "t", helm_cli.CHART, "--kube-version", helm_cli.KUBERNETES, "-f", file)

    def test_have_configurations_that_the_program_takes(self):
        for file in self.FILES:
            with self.subTest(example=file.parent.name), tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
                block = re.search(r"^    default: \|\n((?:      .*\n|\n)+)", file.read_text(), re.MULTILINE)[1]
                config.write(textwrap.dedent(block))
                config.flush()
                checked = subprocess.run([PROGRAM, "check-config", f"--config-file={config.name}"], text=True,
                                         capture_output=True, check=False)
                self.assertEqual(checked.returncode, 0, checked.stderr)


class Security(unittest.TestCase):
    def context(self, values=None):
        rendered = render(values)
        return section(rendered[rendered.index("containers:"):], "securityContext")

    def test_default_has_no_right_at_all(self):
        context = self.context()
        self.assertIn("allowPrivilegeEscalation: false", context)
        self.assertIn("drop: [ALL]", context)
        self.assertIn("readOnlyRootFilesystem: true", context)
        self.assertIn("type: RuntimeDefault", context)
        self.assertNotIn("privileged", context)
        self.assertNotIn("add:", context)

    def test_privileged_also_sees_devices_and_driver_of_the_host(self):
        rendered = render({"privileged": True})
        self.assertIn("privileged: true", rendered)
        self.assertIn("mountPath: /dev\n", rendered)
        self.assertIn("mountPath: /driver-root\n              readOnly: true\n", rendered)

    def test_cpu_manager_is_served_as_nvidias_chart_does(self):
        rendered = render({"compatWithCPUManager": True})
        self.assertEqual(environment(rendered)["PASS_DEVICE_SPECS"], "true")
        self.assertIn("privileged: true", rendered)
        self.assertNotIn("mountPath: /dev\n", rendered)

    def test_mig_is_watched_with_the_right_that_the_runtime_asks_for(self):
        for values in ({"migStrategy": "single"},
                       {"config": {"map": {"a": "flags: {migStrategy: mixed}"}}},
                       {"config": {"name": "unseen"}}):
            with self.subTest(values=values):
                self.assertIn("add: [SYS_ADMIN]", self.context(values))
                self.assertIn("NVIDIA_MIG_MONITOR_DEVICES", environment(render(values)))
        for values in ({"migStrategy": "none"},
                       {"config": {"name": "unseen", "default": "a"}, "migStrategy": "none"},
                       {"migStrategy": "none",
                        "config": {"map": {"a": "flags: {migStrategy: mixed}"}}}):
            with self.subTest(values=values):
                self.assertNotIn("SYS_ADMIN", self.context(values))

    def test_own_context_replaces_the_charts(self):
        values = {"securityContext": {"runAsUser": 7}, "migStrategy": "mixed"}
        self.assertEqual(self.context(values), "runAsUser: 7")
        self.assertNotIn("NVIDIA_MIG_MONITOR_DEVICES", environment(render(values)))


class Mounts(unittest.TestCase):
    def test_default_mounts_nothing_but_the_kubelets_folders(self):
        rendered = render()
        self.assertEqual(rendered.count("mountPath:"), 2)
        self.assertIn("mountPath: /var/lib/kubelet/device-plugins\n", rendered)
        self.assertIn("mountPath: /var/lib/kubelet/pod-resources\n              readOnly: true\n",
                      rendered)

    def test_profile_has_its_folders(self):
        for values in ({"profile": "deepomatic"}, {"profile": "gcp"},
                       {"config": {"map": {"a": "tranche: {profile: gcp}"}}}):
            with self.subTest(values=values):
                rendered = render(values)
                self.assertIn("mountPath: /device-plugin\n", rendered)
                self.assertIn("path: /var/lib/kubelet/device-plugins\n", rendered)
                self.assertIn("mountPath: /home/kubernetes/bin/nvidia\n", rendered)
        self.assertIn("mountPath: /p\n", render({"profile": "gcp", "pluginDirectory": "/p"}))

    def test_kubelet_may_have_another_root(self):
        rendered = render({"kubeletRootDir": "/var/lib/k0s/kubelet"})
        self.assertIn("path: /var/lib/k0s/kubelet/device-plugins\n", rendered)
        self.assertIn("mountPath: /var/lib/kubelet/device-plugins\n", rendered)
        self.assertIn("path: /var/lib/k0s/kubelet/pod-resources\n", rendered)

    def test_cdi_strategy_brings_its_folder_and_the_driver(self):
        config = {"map": {"a": "flags: {plugin: {deviceListStrategy: cdi-cri}}"}}
        for values in ({"deviceListStrategy": "envvar,cdi-annotations"},
                       {"deviceListStrategy": ["cdi-cri"]},
                       {"cdi": {"enabled": True}},
                       {"config": config}):
            with self.subTest(values=values):
                rendered = render(values)
                self.assertIn("mountPath: /var/run/cdi\n", rendered)
                self.assertIn("mountPath: /driver-root\n", rendered)

    def test_value_wins_over_the_file_as_in_the_program(self):
        config = {"map": {"a": "flags: {plugin: {deviceListStrategy: cdi-cri}}"}}
        self.assertNotIn("/var/run/cdi", render({"deviceListStrategy": "envvar", "config": config}))

    def test_driver_in_a_container_is_seen_when_it_comes(self):
        rendered = render({"nvidiaDriverRoot": "/run/nvidia/driver"})
        self.assertIn("path: /run/nvidia/driver\n", rendered)
        self.assertIn("mountPropagation: HostToContainer\n", rendered)
        self.assertNotIn("mountPropagation", render({"nvidiaDriverRoot": "/"}))

    def test_config_that_is_indented_stays_so(self):
        rendered = render({"config": {"map": {"on": "  version: v1\n  flags: {}\n"}}})
        self.assertIn('  "on": |2\n      version: v1\n      flags: {}\n', rendered)

    def test_an_empty_text_is_the_same_as_nothing(self):
        rendered = render({"kubeletSocket": "", "containerDriverRoot": "", "privileged": True})
        self.assertNotIn("KUBELET_SOCKET", rendered)
        self.assertNotIn("DRIVER_ROOT_CTR_PATH", rendered)

    def test_config_is_mounted_as_a_folder(self):
        rendered = render({"config": {"map": {"mine": "version: v1"}}})
        self.assertIn("mountPath: /etc/tranche\n", rendered)
        self.assertNotIn("subPath", rendered)
        self.assertEqual(environment(rendered)["CONFIG_FILE"], "/etc/tranche/mine")
        self.assertIn('  "mine": |\n    version: v1\n', rendered)

    def test_config_map_of_the_cluster_is_not_made(self):
        rendered = render({"config": {"name": "theirs", "default": "b"}})
        self.assertNotIn("kind: ConfigMap", rendered)
        self.assertIn("configMap:\n            name: theirs\n", rendered)
        self.assertEqual(environment(rendered)["DEFAULT_CONFIG"], "b")


class Nested(unittest.TestCase):
    def test_guest_sees_what_its_node_was_granted(self):
        for values in ({"profile": "nested-guest"}, {"nested": {"guest": True}},
                       {"config": {"map": {"a": "tranche: {nested: {guest: true}}"}}}):
            with self.subTest(values=values):
                rendered = render(values)
                self.assertIn("mountPath: /gpu-grants\n              readOnly: true\n", rendered)
                self.assertIn("path: /gpu-grants\n            type: DirectoryOrCreate\n", rendered)
                self.assertIn("path: /gpu.env\n            type: FileOrCreate\n", rendered)
        rendered = render({"profile": "nested-guest", "nested": {"gpuEnv": "/run/gpu.env"}})
        self.assertIn("mountPath: /run/gpu.env\n", rendered)
        self.assertEqual(environment(rendered)["GPU_ENV"], "/run/gpu.env")

    def test_hosts_files_have_the_same_path_in_the_pod_as_on_the_node(self):
        self.assertNotIn("NESTED_DIR", environment(render({"profile": "nested-host"})))
        other = {"kubeletRootDir": "/var/lib/k0s/kubelet"}
        self.assertNotIn("NESTED_DIR", environment(render(other)))
        place = "/var/lib/k0s/kubelet/device-plugins/tranche/nested"
        for values in ({"profile": "nested-host"},
                       {"config": {"map": {"a": "tranche: {policies: [{resource: a, dialect: nested-host}]}"}}}):
            with self.subTest(values=values):
                rendered = render({**values, **other})
                self.assertEqual(environment(rendered)["NESTED_DIR"], place)
                self.assertIn(f"mountPath: {place}\n", rendered)
                self.assertIn(f"path: {place}\n            type: DirectoryOrCreate\n", rendered)


class Mps(unittest.TestCase):
    SHARED = of_file("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}")

    def test_daemons_of_ours_bring_what_they_need(self):
        policy = "{resource: a, share: memory, enforcement: mps-exclusive}"
        for values in (self.SHARED,
                       of_file(f"tranche: {{policies: [{{resource: b}}, {policy}]}}"),
                       of_file("tranche: {mps: {daemons: per-node}}"),
                       {"profile": "deepomatic", "mps": {"enabled": True}},
                       {"mps": {"daemons": "per-gpu"}},
                       {"config": {"name": "unseen", "default": "a"},
                        "mps": {"daemons": "per-gpu"}}):
            with self.subTest(values=values):
                rendered = render(values)
                self.assertIn("hostPID: true\n", rendered)
                self.assertIn("privileged: true\n", rendered)
                self.assertIn("mountPath: /run/tranche/mps\n", rendered)
                self.assertIn("path: /run/tranche/mps\n", rendered)
                self.assertIn("mountPath: /driver-root\n", rendered)

    def test_their_folder_is_the_same_on_the_host(self):
        for values in ({"mps": {"daemons": "per-gpu", "dir": "/m"}},
                       of_file("tranche: {mps: {daemons: per-gpu, directory: /m}}")):
            rendered = render(values)
            self.assertIn("mountPath: /m\n", rendered)
            self.assertIn("path: /m\n", rendered)

    def test_memory_that_is_shared_is_mounted_for_the_host_too(self):
        propagation = "mountPath: /run/tranche/mps\n              mountPropagation: Bidirectional\n"
        for values in ({"mps": {"daemons": "per-gpu", "sharedMemory": True}},
                       of_file("tranche: {mps: {daemons: per-node, sharedMemory: true}}")):
            self.assertIn(propagation, render(values))
        for values in ({"mps": {"daemons": "per-gpu"}}, {"mps": {"pipe": "/p", "sharedMemory": True}}):
            self.assertNotIn("mountPropagation: Bidirectional", render(values))

    def test_daemons_of_others_need_nothing(self):
        for values in ({}, {"mps": {"root": "/r"}}, {"mps": {"pipe": "/p"}},
                       {"profile": "gpushare", "mps": {"enabled": True}},
                       merged(self.SHARED, {"mps": {"pipe": "/p"}}),
                       merged(self.SHARED, {"mps": {"root": "/r"}}),
                       of_file("tranche: {policies: [{resource: a, enforcement: none}]}")):
            with self.subTest(values=values):
                rendered = render(values)
                self.assertNotIn("hostPID", rendered)
                self.assertNotIn("privileged", rendered)
                self.assertNotIn("/run/tranche/mps", rendered)

    def test_nvidias_daemons_are_seen_where_its_chart_has_them(self):
        rendered = render(merged(self.SHARED, {"mps": {"root": "/r"}}))
        self.assertIn("mountPath: /mps\n              readOnly: true\n", rendered)
        self.assertIn("path: /r\n", rendered)
        self.assertNotIn("mountPath: /mps", render({"mps": {"root": "/r"}}))

    def test_a_pipe_of_others_is_seen_from_above_and_read_only(self):
        for values, above in ((merged(self.SHARED, {"mps": {"pipe": "/root/mps/pipe/"}}), "/root/mps"),
                              ({"mps": {"pipe": "/run/p"}}, "/run"),
                              (of_file("tranche: {mps: {pipe: /srv/p}}"), "/srv"),
                              ({"profile": "gpushare", "mps": {"enabled": True}}, "/tmp")):
            rendered = render(values)
            self.assertIn("mountPath: /mps-outside\n              readOnly: true\n", rendered)
            self.assertIn(f"path: {above}\n            type: DirectoryOrCreate\n", rendered)
        for values in ({}, {"mps": {"pipe": "/p"}}, self.SHARED):
            self.assertNotIn("/mps-outside", render(values))


if __name__ == "__main__":
    helm_cli.require()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
