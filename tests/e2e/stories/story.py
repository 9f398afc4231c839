# SPDX-License-Identifier: Apache-2.0
"""What every story has: a cluster, simulated GPUs, an agent, and pods."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import pytest
import traces
from cluster.cluster import PROGRAMS, Cluster, built_programs
from cluster.layout import NODE_NAME

from . import under_test
from .agent import Agent
from .gpus import Gpus
from .nvidia_plugin import NvidiaPlugin
from .on_cluster import GPU, PODS, OnCluster

__all__ = ["AGENT", "BUILD", "GPU", "NODE", "PODS", "REPOSITORY", "SIM", "Story"]

NODE = f"/api/v1/nodes/{NODE_NAME}"
REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["TRANCHE_BUILD"]).resolve()
AGENT = BUILD / "src/programs/device_plugin/tranche-device-plugin"
SIM = BUILD / "testbed/driver/tranche-sim"
LOGS = pathlib.Path(os.environ.get("TRANCHE_E2E_LOGS", BUILD / "e2e-logs"))


class Story(OnCluster, unittest.TestCase):
    """Stories share a cluster, and each begins on an empty node. Others are told at the same
    time, on clusters of their own.

    A class that needs another kubelet, runtime or program says so in
    `kubelet_changes`, `default_runtime` and `more_programs`; classes with equal
    needs share one cluster. Classes that use the same thing of the machine name it
    in `uses_alone`.
    """
    kubelet_changes = {}
    more_programs = ()  # "nvidia": its runtime, with a RuntimeClass
    tools = ()  # programs that are no part of the cluster
    default_runtime = "runc"
    uses_alone = ""
    shared = None  # (needs, cluster)
    began = ended = None
    plugins = ended_plugins = ()
    plugin_took_part = False
    is_cluster_spent = False  # by this story: the next one needs another cluster

    def setUp(self):
        self.plugins = []
        self.cluster = self.cluster_with_what_is_needed()
        self.began = time.monotonic()
        self.addCleanup(self.clear)

    def seconds(self):
        """What the story took, without the start of a cluster before and the clearing up after it."""
        return (self.ended or time.monotonic()) - self.began if self.began else 0.0

    @classmethod
    def needs(cls):
        """Of a cluster. Stories with the same needs can share one."""
        return repr(cls.kubelet_changes), cls.more_programs, cls.default_runtime

    def cluster_with_what_is_needed(self):
        needs = self.needs()
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
        if self.has_failed():
            self.ended_plugins = [plugin.last_words() for plugin in self.plugins if plugin.has_ended()]
            self.give_cluster_up()
            return
        if self.is_cluster_spent:
            self.end_cluster()
            return
        try:
            self.empty_the_node()
        except Exception:
            self.give_cluster_up()
            raise
        if not (under_test.IS_OURS or self.plugin_took_part or self.raised()):
            self.skipTest("the story does not start the plugin under test")

    def empty_the_node(self):
        for plugin in self.plugins:
            plugin.stop()
        self.delete_all_pods()
        # The next story must not take this one's offer for its own.
        self.until_nothing_is_offered()
        # What an agent remembers of GPUs and tells the runtime is no matter of the next story.
        self.cluster.checked("sh", "-c", "rm -rf /var/lib/kubelet/device-plugins/tranche /var/run/cdi/*")

    def has_no_use_for_cluster(self):
        """Whether it is ended after this story, so that nothing on it need be cleared up."""
        return self.is_cluster_spent or self.has_failed()

    def unless_failed(self, *words, **options):
        """Runs a command that clears up, but where its traces are to be looked at."""
        if not self.has_failed():
            self.cluster.inside(*words, **options)

    def give_cluster_up(self):
        self.keep_logs(self.cluster)
        self.end_cluster()

    def end_cluster(self):
        """Its plugins end with the node."""
        end_shared_cluster()
        for plugin in self.plugins:
            plugin.process.wait(30)

    def raised(self):
        """What the story has raised so far, also to be skipped: pytest's result has it."""
        return [info.value for info in self._outcome.result._excinfo or ()]

    def has_failed(self):
        return not all(isinstance(error, pytest.skip.Exception) for error in self.raised())

    def properties(self):
        """For the report."""
        return {"seconds": round(self.seconds(), 1), "flags": [plugin.flags for plugin in self.plugins],
                "ended": list(self.ended_plugins)}

    def logs_folder(self):
        return LOGS / self.id().split("stories.")[-1]

    def keep_logs(self, cluster):
        self.copy_logs(cluster, self.logs_folder())
        print(f"\nLogs of {self.id()}: {self.logs_folder()}", flush=True)

    def copy_logs(self, cluster, target):
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Pods still write, and their files come and go: what cannot be had is left out.
        subprocess.run(["cp", "-a", cluster.layout.logs, target], stderr=subprocess.DEVNULL)
        for what in ("pods", "events", "nodes"):
            done = cluster.inside("kubectl", "get", "--all-namespaces", "-o", "yaml", what)
            (target / f"{what}.yaml").write_text(done.stdout + done.stderr)

    # The node.

    def gpus(self, world):
        return Gpus(self.cluster, SIM, world)

    def agent(self, *flags):
        """Starts the plugin that is under test. If it is not ours, it gets such flags of these
        as it has."""
        return self.agent_on(self.cluster, *flags)

    def agent_on(self, cluster, *flags):
        plugin = Agent(cluster, AGENT, flags) if under_test.IS_OURS else NvidiaPlugin(cluster, flags)
        self.plugins.append(plugin)
        self.plugin_took_part = True
        return plugin.start()


def end_shared_cluster():
    if Story.shared:
        Story.shared[1].down(purge=True)
        Story.shared = None
