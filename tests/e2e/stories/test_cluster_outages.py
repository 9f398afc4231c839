# SPDX-License-Identifier: Apache-2.0
"""An API server that is away for a moment, for a minute or for good, and one that was restored from a backup:
GPUs are served all the time, and afterwards everything is right that the agent had published."""
import collections
import json
import re
import shutil
import time

from cluster.cluster import seconds, until

from .agent import REPORTS, closed_kubeconfig
from .configurations import time_slicing
from .reporting import NODE, ReportingStory
from .story import Story
from .story_sets import extended
from .under_test import only_ours

MAPS = "/api/v1/namespaces/default/configmaps"
OURS = "is about what our agent publishes"
COMPLAINT = re.compile(r"^(?:warning|error) .*API server.*$", re.MULTILINE)


def complaints(agent):
    """Lines about the API server, without their times."""
    return COMPLAINT.findall(re.sub(r"^\S+ +(?=warning|error)", "", agent.log(), flags=re.MULTILINE))


def unhealthy(agent):
    return [gpu["uuid"] for gpu in agent.devices()["gpus"] if not gpu["health"]["healthy"]]


@only_ours(OURS)
class ApiServerAway(ReportingStory):
    def away(self, length):
        """A GPU fails while the API server is away for so long."""
        gpus = self.gpus("t4-quad")
        agent = self.reporting()
        self.until_all_is_reported(4)
        self.assertEqual(complaints(agent), [])
        lost = gpus.uuids()[1]

        self.cluster.kill("kube-apiserver")
        gone = time.monotonic()
        gpus.fault("lose", "--gpu", lost)
        until(lambda: complaints(agent), "a complaint of the agent", 30)
        until(lambda: unhealthy(agent) == [lost], "the fault", 30)
        until(lambda: time.monotonic() > gone + length / 6, "the beginning of the outage", length + 30)
        said = complaints(agent)
        until(lambda: time.monotonic() > gone + length, "the end of the outage", length + 30)
        self.assertEqual(complaints(agent), said, "no reason is logged again")
        self.assertEqual(unhealthy(agent), [lost])
        back = time.time()
        self.cluster.start("kube-apiserver")
        until(self.cluster.api_is_ready, "kube-apiserver", 60)
        self.until_all_is_reported(4, healthy=3, patience=90)
        event = self.until_event("GpuUnhealthy", lost, patience=90)
        self.assertLess(seconds(event["eventTime"]), back, "it has the time when it happened")
        self.assertEqual(len(self.events()), 1)
        # A server that starts first refuses what it does not know yet; each reason is logged once.
        said = collections.Counter(complaints(agent))
        self.assertEqual(set(said.values()), {1}, said)
        self.assertLessEqual(len(said), 12, said)

    def test_what_happened_while_the_api_server_was_away_is_told_when_it_is_back(self):
        self.away(length=0)

    @extended
    def test_an_outage_of_a_minute_is_complained_of_once_and_ends_with_everything_right(self):
        self.is_cluster_spent = True  # its kubelet takes as long again to look for deleted pods
        self.away(length=60)


@only_ours(OURS)
class Restored(ReportingStory):
    @extended
    def test_after_a_restore_from_an_older_backup_everything_is_written_again(self):
        self.is_cluster_spent = True  # what else is on it may be confused now
        gpus = self.gpus("t4-quad")
        agent = self.reporting()
        self.until_all_is_reported(4)
        lost = gpus.uuids()[1]
        gpus.fault("lose", "--gpu", lost)
        self.until_all_is_reported(4, healthy=3)
        self.cluster.api.merge(NODE, {"metadata": {"labels": {"example.com/of-the-backup": "yes"}}})
        data = self.cluster.layout.state / "etcd"
        backup = self.cluster.layout.state / "etcd-backup"
        with self.cluster.frozen("etcd"):  # as good as a snapshot: what it would find after a kill
            shutil.copytree(data, backup)

        gpus.fault("come-back", "--gpu", lost)
        self.until_all_is_reported(4)
        self.cluster.api.merge(NODE, {"metadata": {"labels": {"example.com/of-the-backup": None}}})
        self.much_happens()
        for name in ("kube-apiserver", "etcd"):
            self.cluster.kill(name)
        shutil.rmtree(data)
        backup.rename(data)
        data.chmod(0o700)
        self.cluster.start("etcd")
        self.cluster.until_answers("127.0.0.1", 2379, "etcd")
        self.cluster.start("kube-apiserver")
        until(self.cluster.api_is_ready, "kube-apiserver", 60)
        self.assertIn("example.com/of-the-backup", self.node()["metadata"]["labels"])
        agent.until_logged("the API server has older objects than before")
        self.until_all_is_reported(4)
        self.assertEqual(agent.log().count("older objects than before"), 1)
        # As after every restore.
        for name in ("kubelet", "kube-scheduler", "kube-controller-manager"):
            self.cluster.kill(name)
            self.cluster.start(name)
        self.until_offered(4)
        self.assertEqual(len(self.run_pod("new").reachable_minors()), 1)
        self.until_gpu_node(lambda status: [each["pod"] for each in status["holders"]] == ["new"], "the pod")

    def much_happens(self):
        """A backup is older than what the servers write when they start."""
        self.cluster.api.create(MAPS, {"metadata": {"name": "busy"}})
        for number in range(500):
            self.cluster.api.merge(f"{MAPS}/busy", {"data": {"number": str(number)}})
        # The agent sees the version with the next change of its Node.
        self.cluster.api.merge(NODE, {"metadata": {"labels": {"example.com/busy": "yes"}}})


@only_ours(OURS)
class NoApiServer(Story):
    """As long as the agent lives."""

    def serve(self, kubeconfig, complaint):
        gpus = self.gpus("t4-quad")
        config = self.cluster.layout.state / "agent-config.yaml"
        config.write_text(json.dumps({"version": "v1"}))
        self.addCleanup(config.unlink)
        agent = self.agent("--pass-device-specs", "--health-check-interval=500ms", *REPORTS,
                           f"--kubeconfig={kubeconfig}", f"--config-file={config}")
        self.until_offered(4)
        lost = self.run_pod("one").visible()[0]
        agent.until_logged(complaint)
        gpus.fault("lose", "--gpu", lost)
        self.until_offered(3, capacity=4)
        gpus.fault("come-back", "--gpu", lost)
        self.until_offered(4)
        self.delete_pod("one")
        config.write_text(json.dumps(time_slicing(2)))
        self.until_offered(8)
        self.assertEqual(len(self.run_pod("two", 2).visible()), 2)
        said = collections.Counter(complaints(agent))
        self.assertEqual(set(said.values()), {1}, said)
        return said

    def test_every_gpu_is_served_where_nobody_listens_at_the_api_servers_address(self):
        said = self.serve(closed_kubeconfig(self.cluster), "connecting to 127.0.0.1:1: Connection refused")
        self.assertIn("cannot watch this node", " ".join(said))

    def test_every_gpu_is_served_by_an_agent_without_kubeconfig_and_token(self):
        said = self.serve("/nonexistent", "no way to the API server; what needs it waits, GPUs are served without it")
        self.assertEqual(len(said), 1)
