# SPDX-License-Identifier: Apache-2.0
"""The kubelet takes no list of more than 4 MiB: the stream ends, and the resource is gone."""
import json
import re

from .configurations import time_slicing
from .story import Story
from .under_test import only_ours

GPUS = 8
TOO_MANY = 20_000  # of each GPU


@only_ours("does not look at the size of its list; these stories take figures from our log")
class MessageSize(Story):
    def agent_with(self, replicas):
        self.file = self.cluster.layout.state / "config.yaml"
        self.write(replicas)
        return self.agent(f"--config-file={self.file}", "--health-check-interval=500ms")

    def write(self, replicas):
        self.file.write_text(json.dumps(time_slicing(replicas)))

    def most_replicas(self, log):
        """Of each GPU, as the agent's refusal says."""
        told = re.search(r"the kubelet accepts at most 4\.0 MiB, about (\d+) shares", log)
        self.assertTrue(told, log)
        return int(told[1]) // GPUS

    def test_a_list_that_the_kubelet_would_not_take_is_refused_with_the_figures(self):
        self.gpus("dgx-a100")
        agent = self.agent_with(2)
        self.until_offered(2 * GPUS)
        before = self.run_pod("goes-on", 1)
        self.write(TOO_MANY)
        agent.until_logged(f"{TOO_MANY * GPUS} shares")
        self.assertIn("replicas", agent.log())
        self.assertEqual(self.offered(), (2 * GPUS, 2 * GPUS))

        # What it says would do, does.
        most = self.most_replicas(agent.log())
        self.write(most)
        self.until_offered(most * GPUS)
        self.run_pod("one-of-many", 1)
        self.assertEqual(self.look_again("goes-on").env["NVIDIA_VISIBLE_DEVICES"],
                         before.env["NVIDIA_VISIBLE_DEVICES"])

    def test_the_largest_list_is_taken_even_when_every_gpu_is_unhealthy(self):
        """Then it is longer: "Unhealthy" has two letters more."""
        gpus = self.gpus("dgx-a100")
        refused = self.agent_with(TOO_MANY)
        refused.until_logged("the kubelet accepts at most")
        most = self.most_replicas(refused.log())
        refused.stop()
        self.agent_with(most)
        self.until_offered(most * GPUS)
        gpus.fault("driver", "unload")
        self.until_offered(0, capacity=most * GPUS)
        gpus.fault("driver", "load")
        self.until_offered(most * GPUS)
