# SPDX-License-Identifier: Apache-2.0
"""An agent that reports at the API server, with the rights that our chart gives it, and what it wrote there."""
import json

from cluster.api import ApiError
from cluster.cluster import ClusterError, until
from cluster.layout import NODE_NAME

from .agent import REPORTS, kubeconfig
from .agent_rights import CONDITION, EVENTS, GPU_NODES, NODES, StoryWithRights

NODE = f"{NODES}/{NODE_NAME}"
GPU_NODE = f"{GPU_NODES}/{NODE_NAME}"
COUNT = "example.com/gpu-count"  # an extended resource that the agent writes itself
COUNTS = f"--extended-resources={COUNT}=gpus"
LABEL = "nvidia.com/gpu.count"
CONTROLLER = "tranche.dev/device-plugin"


class ReportingStory(StoryWithRights):
    values = {"gfd": {"enabled": True}, "extendedResources": {COUNT: "gpus"}}

    def setUp(self):
        super().setUp()
        self.cluster.api.text("DELETE", EVENTS)  # those of earlier stories
        self.addCleanup(self.remove_reports)

    def remove_reports(self):
        """After the agent, which would put them back."""
        if self.has_no_use_for_cluster():
            return
        for plugin in self.plugins:
            plugin.stop()
        labels = self.cluster.api.get(NODE)["metadata"]["labels"]
        self.clear_node([label for label in labels if label.startswith("nvidia.com/")], [COUNT])

    def linked(self, *flags):
        """An agent that knows the way to the API server, and reports nothing unless these flags say so."""
        file = kubeconfig(self.cluster, "agent", user={"token": self.agent_token})
        return self.agent("--pass-device-specs", "--health-check-interval=500ms", f"--node-name={NODE_NAME}",
                          f"--kubeconfig={file}", *flags)

    def reporting(self, *flags):
        """One that reports all that there is."""
        return self.linked(*REPORTS, COUNTS, *flags)

    def config_file(self, content, name="agent-config.yaml"):
        """Writes a configuration of the agent, for the first time or again."""
        file = self.cluster.layout.state / name
        if not file.exists():
            self.addCleanup(file.unlink, missing_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    # What the API server has.

    def until_seen(self, look, is_right, what, patience=30):
        """What `look` sees, once it is right."""
        seen = [None]
        def right():
            seen[0] = look()
            return is_right(seen[0])
        try:
            until(right, "", patience)
        except ClusterError:
            self.fail(f"{what}: not within {patience} s; the last was {json.dumps(seen[0])}")
        return seen[0]

    def node(self):
        return self.cluster.api.get(NODE)

    def labels(self):
        """Those that describe GPUs."""
        return {name: value for name, value in self.node()["metadata"]["labels"].items()
                if name.startswith("nvidia.com/")}

    def condition(self):
        return next((each for each in self.node()["status"]["conditions"] if each["type"] == CONDITION), None)

    def gpu_node(self):
        """All of it, or None."""
        try:
            return self.cluster.api.get(GPU_NODE)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def events(self, kind="Node", name=NODE_NAME):
        """Those of the agent about an object, oldest first."""
        found = [each for each in self.cluster.api.get(EVENTS)["items"]
                 if each.get("reportingController") == CONTROLLER
                 and (each["regarding"]["kind"], each["regarding"]["name"]) == (kind, name)]
        return sorted(found, key=lambda each: each["eventTime"])

    def until_condition(self, status, patience=30):
        return self.until_seen(self.condition, lambda found: found and found["status"] == status,
                               f"the condition {CONDITION}={status}", patience)

    def until_gpu_node(self, is_right, what, patience=30):
        """Its status."""
        return self.until_seen(lambda: (self.gpu_node() or {}).get("status"),
                               lambda status: status and is_right(status), f"GpuNode with {what}", patience)

    def until_event(self, reason, *words, kind="Node", name=NODE_NAME, patience=30):
        def matching(events):
            return [each for each in events if each["reason"] == reason and all(word in each["note"] for word in words)]
        seen = self.until_seen(lambda: self.events(kind, name), matching, f"an event {reason} of {kind} {name}",
                               patience)
        return matching(seen)[0]

    def until_all_is_reported(self, gpus, healthy=None, patience=30):
        """Labels, count, condition and GpuNode are there and say so many GPUs."""
        healthy = gpus if healthy is None else healthy
        self.until_seen(self.labels, lambda labels: labels.get(LABEL) == str(gpus), f"{LABEL}={gpus}", patience)
        self.until_seen(lambda: self.offered(COUNT), lambda counts: counts == (gpus, gpus), f"{COUNT}={gpus}", patience)
        self.until_condition("True" if healthy == gpus else "False", patience)
        def counts(status):
            return status["summary"]["gpus"], status["summary"].get("healthyGpus")
        self.until_gpu_node(lambda status: counts(status) == (gpus, healthy), f"{healthy} of {gpus} GPUs healthy",
                            patience)
