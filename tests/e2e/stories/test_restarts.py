# SPDX-License-Identifier: Apache-2.0
"""The parts of a node end and come back one by one; running pods keep their GPUs."""
import datetime
import re

from cluster.cluster import until

from .story import Story

# What the kubelet logs.
LISTENS = "Starting device plugin registration server"
REGISTERED = "Got registration request from device plugin"
TIME = re.compile(r"^I(\d{4} [0-9:.]+) ")


def last_time(log, words):
    """When the last line with `words` was logged; the year is any."""
    lines = [line for line in log.splitlines() if words in line]
    assert lines, f"'{words}' is not in the log:\n{log}"
    return datetime.datetime.strptime("2000" + TIME.match(lines[-1])[1], "%Y%m%d %H:%M:%S.%f")


class Restarts(Story):
    def setUp(self):
        super().setUp()
        self.gpus("dgx-a100")
        self.plugin = self.agent("--pass-device-specs")
        self.until_offered(8)
        self.before = {name: self.run_pod(name, count) for name, count in (("one", 1), ("three", 3))}
        self.containers = {name: self.container(name) for name in self.before}

    def kubelet_log(self):
        return (self.cluster.layout.logs / "kubelet.log").read_text(errors="replace")

    def registrations(self):
        """So many the kubelet has taken so far."""
        return self.kubelet_log().count(REGISTERED)

    def until_registered_again(self, before):
        until(lambda: self.registrations() > before, "another registration", 60)

    def container(self, name):
        status = self.get(name)["status"]["containerStatuses"][0]
        return status["containerID"], status["restartCount"]

    def assert_pods_go_on(self):
        """The same containers, with the same GPUs, and a new pod has others."""
        for name, view in self.before.items():
            self.assertEqual(self.container(name), self.containers[name])
            self.assertEqual(self.look_again(name).reachable_minors(), view.reachable_minors())
        new = self.run_pod("new", 4)
        held = [minor for view in (*self.before.values(), new) for minor in view.reachable_minors()]
        self.assertEqual(sorted(held), list(range(8)))

    def test_a_kubelet_that_was_killed_finds_the_agent_and_the_pods_again(self):
        before = self.registrations()
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")
        self.until_registered_again(before)
        self.until_offered(8)
        self.assert_pods_go_on()
        # A plugin waits for the kubelet's socket, not for a clock. It takes ours
        # milliseconds; two seconds are what is promised.
        log = self.kubelet_log()
        took = last_time(log, REGISTERED) - last_time(log, LISTENS)
        self.assertLess(took.total_seconds(), 2)
        if self.plugin.is_ours:  # before, it may have knocked at the last kubelet's door
            # The socket's file is there a moment before the kubelet listens on it.
            tries = self.plugin.log().rpartition("kubelet started")[2].count("registration failed")
            self.assertLessEqual(tries, 1)

    def test_a_kubelet_that_is_away_for_long_is_waited_for(self):
        before = self.registrations()
        self.cluster.stop("kubelet")
        self.plugin.until_it_misses_the_kubelet()
        self.cluster.start("kubelet")
        self.until_registered_again(before)
        self.until_offered(8)
        self.assert_pods_go_on()

    def test_containerd_may_be_restarted_under_running_pods(self):
        self.cluster.kill("containerd")
        self.cluster.start("containerd")
        until(lambda: self.cluster.inside("ctr", "version").returncode == 0, "containerd", 30)
        until(self.cluster.node_is_ready, "the node's condition Ready", 60)
        self.assert_pods_go_on()

    def test_an_agent_that_was_killed_takes_up_where_it_was(self):
        self.plugin.kill()
        self.until_offered(0, capacity=8)
        self.plugin.start()
        self.until_offered(8)
        self.assert_pods_go_on()

    def test_an_agent_that_was_killed_while_the_kubelet_was_away_takes_up_where_it_was(self):
        before = self.registrations()
        self.cluster.kill("kubelet")
        self.plugin.kill()
        self.plugin.start()
        self.cluster.start("kubelet")
        self.until_registered_again(before)
        self.until_offered(8)
        self.assert_pods_go_on()

    def test_the_api_server_may_be_away(self):
        before = self.registrations()
        self.cluster.kill("kube-apiserver")
        self.plugin.kill()
        self.plugin.start()
        self.until_registered_again(before)
        self.cluster.start("kube-apiserver")
        until(self.cluster.api_is_ready, "kube-apiserver", 60)
        until(self.cluster.node_is_ready, "the node's condition Ready", 60)
        self.until_offered(8)
        self.assert_pods_go_on()

    def test_a_container_that_ends_is_started_again_with_its_gpu(self):
        self.create(self.pod("again", 1, restartPolicy="Always"))
        first = self.view("again")
        self.cluster.inside("kubectl", "exec", "again", "--", "kill", "1")
        until(lambda: self.container("again")[1] == 1, "the restart of the container", 60)
        self.assertEqual(self.view("again").reachable_minors(), first.reachable_minors())
