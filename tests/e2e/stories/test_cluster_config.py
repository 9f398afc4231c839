# SPDX-License-Identifier: Apache-2.0
"""Configurations that the Node's label chooses, and refusals as people see them at the API server."""
import json

from .configurations import time_slicing
from .reporting import NODE, ReportingStory
from .test_policies import SHARED, replicas
from .under_test import only_ours

CONFIG_LABEL = "nvidia.com/device-plugin.config"


@only_ours("its sidecar config-manager restarts the plugin")
class ConfigByLabel(ReportingStory):
    def choose(self, name):
        self.cluster.checked("kubectl", "label", "--overwrite", NODE.removeprefix("/api/v1/"),
                             f"{CONFIG_LABEL}={name}" if name else f"{CONFIG_LABEL}-")

    def until_configuration(self, **wanted):
        def is_right(status):
            found = status["configuration"]
            return all(found[key] == value for key, value in wanted.items())
        return self.until_gpu_node(is_right, f"configuration {wanted}")["configuration"]

    def test_a_label_switches_the_configuration_without_a_restart_and_one_that_names_no_file_is_refused(self):
        self.gpus("t4-quad")
        folder = self.cluster.layout.state / "agent-configs"
        folder.mkdir(exist_ok=True)
        for name, count in (("two", 2), ("four", 4)):
            (folder / name).write_text(json.dumps(time_slicing(count)))
        agent = self.linked("--gpu-node", "--node-events", f"--config-dir={folder}", "--default-config=two")
        self.until_offered(8)
        self.until_configuration(name="two", file=f"{folder}/two", refused=0, lastRefusal="")

        self.choose("four")
        self.until_offered(16)
        self.until_configuration(name="four", file=f"{folder}/four", refused=0)
        self.until_event("ConfigurationReloaded", f"{folder}/four")

        self.choose("five")
        missing = "there is no configuration 'five'"
        self.until_event("ConfigurationRefused", f"{CONFIG_LABEL}=five", missing, "four, two")
        refused = self.until_configuration(name="four", refused=1)
        self.assertIn(missing, refused["lastRefusal"])
        self.assertIn(missing, self.cluster.checked("kubectl", "get", "gpunodes", "-o", "wide"))
        self.assertEqual(self.offered(), (16, 16))

        self.choose("four")  # nothing is to be loaded
        self.until_configuration(name="four", lastRefusal="")
        self.choose(None)
        self.until_offered(8)
        self.until_configuration(name="two", lastRefusal="")
        self.assertEqual(agent.log().count("tranche-device-plugin starts"), 1)


@only_ours("is about what our agent publishes")
class Refusals(ReportingStory):
    def test_a_refused_configuration_file_is_an_event_and_in_gpu_node(self):
        self.gpus("t4-quad")
        file = self.config_file(time_slicing(2))
        self.linked("--gpu-node", "--node-events", f"--config-file={file}")
        self.until_offered(8)
        self.config_file(time_slicing(resources=[{"name": "nvidia.com/gpu", "replica": 3}]))
        event = self.until_event("ConfigurationRefused", str(file), "replica")
        self.assertEqual(event["type"], "Warning")
        status = self.until_gpu_node(lambda status: status["configuration"]["refused"] == 1, "a refused configuration")
        self.assertIn("replica", status["configuration"]["lastRefusal"])
        self.assertEqual(self.offered(), (8, 8))
        self.config_file(time_slicing(3))
        self.until_offered(12)
        self.until_event("ConfigurationReloaded", str(file))
        self.until_gpu_node(lambda status: status["configuration"]["lastRefusal"] == "", "no refusal")

    def test_a_refused_allocation_is_an_event(self):
        self.gpus("t4-quad")
        file = self.config_file({"version": "v1", "tranche": {"policies": [replicas(10, distinctGpus=True)]}})
        self.linked("--node-events", f"--config-file={file}")
        self.until_offered(40, SHARED)
        self.create(self.pod("five", 5, SHARED))
        self.until_phase("five", "Failed")
        event = self.until_event("AllocationRefused", SHARED, "on different GPUs")
        self.assertEqual(event["type"], "Warning")
        self.assertRegex(self.cluster.checked("kubectl", "describe", "node", "node-1"), "Warning +AllocationRefused")
