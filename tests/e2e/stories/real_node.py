# SPDX-License-Identifier: Apache-2.0
"""The node with the real kubelet."""
import signal
import time

from cluster.cluster import seconds, until
from cluster.layout import NODE_NAME

from .agent import PluginProcess
from .gpus import DRIVER_ROOT
from .pods import container, pod_of
from .recorded_node import PATIENCE, RecordedNode
from .story import NODE

EVENTS = "/api/v1/namespaces/default/events"


def refusal_in(status):
    return f"{status['reason']}: {status['message'].removeprefix('Pod was rejected: ')}"


class RealNode(RecordedNode):
    """On the cluster of a story. Pods name their node: the scheduler is no part of this."""
    name = "real"

    def __init__(self, folder, story, world):
        super().__init__(folder, story.cluster.layout.logs, story.gpus(world), DRIVER_ROOT)
        self.story = story
        self.cluster = story.cluster

    def process(self, name, program, *flags):
        return PluginProcess(self.cluster, program, flags, name=f"real-{name}").start()

    def plugin_folder_of_kubelet(self):
        return "/var/lib/kubelet/device-plugins"

    def kubelet_folder(self):
        return self.cluster.layout.kubelet / "device-plugins"

    def admit_pod(self, name, parts):
        def containers(*kinds):
            changes = {"sidecar": {"restartPolicy": "Always"}}
            return [container(part.name, part.limits, stays=part.kind != "init", **changes.get(part.kind, {}))
                    for part in parts if part.kind in kinds]
        self.story.create(pod_of(name, containers(""), initContainers=containers("init", "sidecar"),
                                 nodeName=NODE_NAME, restartPolicy="Always"))
        status = self.story.until_phase(name, "Running", "Failed")["status"]
        return refusal_in(status) if status["phase"] == "Failed" else None

    def rejection(self, name):
        """From the event: the pod's status is written over when its containers have ended."""
        def told():
            events = self.cluster.api.get(EVENTS, fieldSelector=f"involvedObject.uid={uid},type=Warning")["items"]
            return next((e for e in events if e["reason"] == "UnexpectedAdmissionError"), None)
        uid = self.story.get(name)["metadata"]["uid"]
        event = until(told, f"the rejection of pod {name}", PATIENCE)
        self.story.until_phase(name, "Failed", "Succeeded")
        return f"{event['reason']}: {event['message']}"

    def remove_pod(self, name):
        self.story.delete_pod(name)

    def restart_container(self, name):
        def restarts():
            status = next(s for s in self.story.get(name)["status"]["containerStatuses"] if s["name"] == "main")
            return status["restartCount"] if "running" in status["state"] else -1

        def ended():
            # A kubelet that has just come may not listen yet; and the command
            # may be killed with the container, before it can say that it is done.
            done = self.cluster.inside("kubectl", "exec", name, "--container=main", "--", "kill", "1")
            return done.returncode in (0, 128 + signal.SIGKILL)
        before = restarts()
        until(ended, f"the end of the container of pod {name}", PATIENCE)
        until(lambda: restarts() > before, f"the restart of pod {name}", PATIENCE)

    def kill_and_start_kubelet(self):
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")

    def restart_kubelet(self):
        super().restart_kubelet()
        # The API has what the last kubelet offered until the new one reports,
        # and its first report may be from before the registration. It reports
        # every second, and says when: in whole seconds.
        now = time.time()
        until(lambda: self.reported_at() > now + 1, "the new kubelet's report", PATIENCE)

    def reported_at(self):
        conditions = self.cluster.api.get(NODE)["status"]["conditions"]
        ready = next(condition for condition in conditions if condition["type"] == "Ready")
        return seconds(ready["lastHeartbeatTime"])

    def offered(self, resource):
        return self.story.offered(resource)
