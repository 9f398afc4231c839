# SPDX-License-Identifier: Apache-2.0
"""What every story has: a cluster, simulated GPUs, an agent, and pods."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import traces
from cluster.api import ApiError
from cluster.cluster import PROGRAMS, Cluster, ClusterError, built_programs, until
from cluster.layout import NODE_NAME

from . import under_test
from .agent import Agent
from .gpus import Gpus
from .nvidia_plugin import NvidiaPlugin
from .pods import DONE, LOOK_AROUND, parse_view, pod

GPU = "nvidia.com/gpu"
PODS = "/api/v1/namespaces/default/pods"
NODE = f"/api/v1/nodes/{NODE_NAME}"
REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["TRANCHE_BUILD"]).resolve()
AGENT = BUILD / "src/apps/tranche-device-plugin"
SIM = BUILD / "sim/library/tranche-sim"
LOGS = pathlib.Path(os.environ.get("TRANCHE_E2E_LOGS", BUILD / "e2e-logs"))


class Story(unittest.TestCase):
    """The stories of a class share a cluster, and each begins on an empty node.

    A class that needs another kubelet, runtime or program says so in
    `kubelet_changes`, `default_runtime` and `more_programs`; classes with equal
    needs share one cluster.
    """
    kubelet_changes = {}
    more_programs = ()  # "nvidia": its runtime, with a RuntimeClass
    tools = ()  # programs that are no part of the cluster
    default_runtime = "runc"
    shared = None  # (needs, cluster)
    began = ended = None
    plugins = ()
    plugin_took_part = False

    def setUp(self):
        self.plugins = []
        self.cluster = self.cluster_with_what_is_needed()
        self.began = time.monotonic()
        self.addCleanup(self.clear)

    def seconds(self):
        """What the story took, without the start of a cluster before and the clearing up after it."""
        return (self.ended or time.monotonic()) - self.began if self.began else 0.0

    def cluster_with_what_is_needed(self):
        needs = (repr(self.kubelet_changes), self.more_programs, self.default_runtime)
        if Story.shared and Story.shared[0] != needs:
            end_shared_cluster()
        if not Story.shared:
            state = tempfile.mkdtemp(prefix=traces.PREFIX)
            Story.shared = (needs, Cluster(state, self.programs()))
            try:
                Story.shared[1].up(self.kubelet_changes, self.default_runtime)
            except Exception:
                self.keep_logs(Story.shared[1])
                end_shared_cluster()  # half of one is of no use to the next story
                raise
        return Story.shared[1]

    def programs(self):
        programs = built_programs((*PROGRAMS, *self.more_programs))
        if under_test.KUBELET != "1.36":
            programs["kubelet"] = built_programs((f"kubelet-{under_test.KUBELET}",)).popitem()[1]
        return programs

    def clear(self):
        """Empties the node. One that a story failed on is given up, but for its logs."""
        self.ended = time.monotonic()
        try:
            if not self.has_failed():
                self.empty_the_node()
                return
        except Exception:
            self.give_cluster_up()
            raise
        self.give_cluster_up()

    def empty_the_node(self):
        for plugin in self.plugins:
            plugin.stop()
        self.delete_all_pods()
        # The next story must not take this one's offer for its own.
        self.until_nothing_is_offered()
        # What an agent remembers of GPUs and tells the runtime is no matter of the next story.
        self.cluster.checked("sh", "-c", "rm -rf /var/lib/kubelet/device-plugins/tranche /var/run/cdi/*")

    def give_cluster_up(self):
        """Its plugins end with the node."""
        self.keep_logs(self.cluster)
        end_shared_cluster()
        for plugin in self.plugins:
            plugin.process.wait(30)

    def has_failed(self):
        result = self._outcome.result
        return any(test is self for test, _ in result.failures + result.errors)

    def keep_logs(self, cluster):
        target = LOGS / self.id().split("stories.")[-1]
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Pods still write, and their files come and go: what cannot be had is left out.
        subprocess.run(["cp", "-a", cluster.layout.logs, target], stderr=subprocess.DEVNULL)
        for what in ("pods", "events", f"nodes/{NODE_NAME}"):
            done = cluster.inside("kubectl", "get", "-o", "yaml", *what.split("/"))
            (target / f"{what.split('/')[0]}.yaml").write_text(done.stdout + done.stderr)
        print(f"\nLogs of {self.id()}: {target}", flush=True)

    # The node.

    def gpus(self, world):
        return Gpus(self.cluster, SIM, world)

    def agent(self, *flags):
        """Starts the plugin that is under test. If it is not ours, it gets such flags of these
        as it has."""
        plugin = Agent(self.cluster, AGENT, flags) if under_test.IS_OURS else NvidiaPlugin(self.cluster, flags)
        self.plugins.append(plugin)
        self.plugin_took_part = True
        return plugin.start()

    def offered(self, resource=GPU):
        """(allocatable, capacity) as the API has it, or None."""
        status = self.cluster.api.get(NODE)["status"]
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
            allocatable = self.cluster.api.get(NODE)["status"]["allocatable"]
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


def end_shared_cluster():
    if Story.shared:
        Story.shared[1].down(purge=True)
        Story.shared = None
