# SPDX-License-Identifier: Apache-2.0
"""What can be done on a cluster with pods and what is offered to them: any cluster, outer or inner."""
import json

from cluster.api import ApiError
from cluster.cluster import ClusterError, until

from .pods import DONE, LOOK_AROUND, parse_view, pod

GPU = "nvidia.com/gpu"
PODS = "/api/v1/namespaces/default/pods"


class OnCluster:
    """Needs `cluster`, and `fail` as a test case has it."""

    def node_path(self):
        return f"/api/v1/nodes/{self.cluster.layout.place.node_name}"

    def offered(self, resource=GPU):
        """(allocatable, capacity) as the API has it, or None."""
        status = self.cluster.api.get(self.node_path())["status"]
        if resource not in status["capacity"]:
            return None
        return int(status["allocatable"][resource]), int(status["capacity"][resource])

    def until_offered(self, allocatable, resource=GPU, capacity=None):
        wanted = (allocatable, allocatable if capacity is None else capacity)
        try:
            until(lambda: self.offered(resource) == wanted, "", 30)
        except ClusterError:
            self.fail(f"{resource}: allocatable and capacity are {self.offered(resource)}, not {wanted}")

    def until_nothing_is_offered(self):
        """The kubelet has seen that the plugins are gone, and the API says so."""
        def nothing():
            allocatable = self.cluster.api.get(self.node_path())["status"]["allocatable"]
            return not any("/" in name and count != "0" for name, count in allocatable.items())
        until(nothing, "the end of what plugins offered", 30)

    # Pods.

    def create(self, manifest):
        return self.cluster.api.create(PODS, manifest)

    def get(self, name):
        return self.cluster.api.get(f"{PODS}/{name}")

    def phase(self, name):
        return self.get(name)["status"].get("phase")

    def until_phase(self, name, *phases):
        """The pod, once it is in one of the phases; an end that was not asked for is a failure."""
        def there():
            found = self.get(name)
            phase = found["status"].get("phase")
            if phase in phases:
                return found
            if phase in ("Failed", "Succeeded"):
                self.fail(f"pod {name} is {phase}, not {'/'.join(phases)}: {why(found['status'])}\n"
                          f"{found['status']}\n{self.output(name)}")
            return None
        try:
            return until(there, "", 60)
        except ClusterError:
            status = self.get(name)["status"]
            self.fail(f"pod {name} is {status.get('phase')}, not {'/'.join(phases)}: {why(status)}\n{status}")

    def until_unschedulable(self, name, reason):
        """The scheduler has said that the pod must wait, and why."""
        def waits():
            conditions = self.get(name)["status"].get("conditions", [])
            return any(c["type"] == "PodScheduled" and c["status"] == "False" and reason in c.get("message", "")
                       for c in conditions)
        until(waits, f"the pod {name} waiting because of '{reason}'", 30)

    def output(self, name, container="main"):
        try:
            return self.cluster.api.text("GET", f"{PODS}/{name}/log?container={container}")
        except ApiError as error:
            return f"(no output: {error})"

    def oci_spec(self, name):
        """What the runtime was given for the pod's container."""
        status = self.get(name)["status"]["containerStatuses"][0]
        identity = status["containerID"].removeprefix("containerd://")
        return json.loads(self.cluster.checked("ctr", "containers", "info", identity))["Spec"]

    def view(self, name, container="main"):
        """What a container of the pod told of itself."""
        def complete():
            text = self.output(name, container)
            return text if "done" in text.splitlines() else None  # errors may be told behind it
        self.until_phase(name, "Running", "Succeeded")
        return parse_view(until(complete, f"the output of pod {name}", 30))

    def look_again(self, name):
        """What a running pod sees now."""
        def seen():  # a kubelet that has just come may not listen yet
            done = self.cluster.inside("kubectl", "exec", name, "--", "sh", "-c", LOOK_AROUND + DONE)
            return done.stdout if done.returncode == 0 else None
        return parse_view(until(seen, f"a command in pod {name}", 30))

    def pod(self, name, count=1, resource=GPU, **options):
        return pod(name, {resource: count} if count else {}, **options)

    def run_pod(self, name, count=1, resource=GPU, **options):
        """Creates a pod, waits until it has looked around, and returns what it saw."""
        self.create(self.pod(name, count, resource, **options))
        return self.view(name)

    def delete_pod(self, name, wait=True):
        self.cluster.api.delete(f"{PODS}/{name}")
        if wait:
            until(lambda: not self.exists(name), f"the end of pod {name}", 30)

    def exists(self, name):
        try:
            return self.get(name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def delete_all_pods(self):
        self.cluster.api.text("DELETE", PODS, {"gracePeriodSeconds": 1})
        until(lambda: not self.cluster.api.get(PODS)["items"], "the end of all pods", 60)


def why(status):
    """What a pod's status says of the reason, in a line."""
    states = [state for c in status.get("containerStatuses", []) for state in c.get("state", {}).values()]
    for item in (*states, status, *status.get("conditions", [])):
        if item.get("message"):
            return " ".join(item["message"].split())
    return "no reason is told"
