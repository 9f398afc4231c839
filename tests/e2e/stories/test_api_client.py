# SPDX-License-Identifier: Apache-2.0
"""The agent's client of the API server (src/kube), on a real one that is killed, restarted and
compacted under it. What no real server does on request is in the unit tests."""
import contextlib
import json
import os
import queue
import signal
import subprocess
import threading

from cluster.cluster import until

from .story import BUILD, NODE, Story
from .story_sets import extended
from .under_test import only_ours

PROGRAM = BUILD / "testbed/api_client/api-client"
MAPS = "/api/v1/namespaces/default/configmaps"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/story"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Client:
    """The program, and what it has printed."""

    def __init__(self, cluster, *flags):
        self.lines = []
        self._queue = queue.Queue()
        self.process = subprocess.Popen(
            cluster.command_inside(PROGRAM, f"--kubeconfig={cluster.layout.kubeconfig('admin')}", *flags),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(json.loads(line))

    def next(self, patience=60):
        """The next line that it prints."""
        self.lines.append(self._queue.get(timeout=patience))
        return self.lines[-1]

    def until(self, wanted):
        """Reads on until a line is as wanted, and returns it."""
        while not wanted(self.next()):
            pass
        return self.lines[-1]

    def send(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def call(self, verb, path, body=None, content="application/json"):
        self.send({"verb": verb, "path": path, "type": content if body is not None else "",
                   **({"body": body} if body is not None else {})})
        return self.next()

    @contextlib.contextmanager
    def frozen(self):
        """It reads nothing meanwhile."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            # nsenter stops itself when its child stops, and wakes it again.
            self.process.send_signal(signal.SIGCONT)

    def signal(self, number):
        """To the program itself, which is a child of nsenter."""
        found = subprocess.run(["pgrep", "--parent", str(self.process.pid)], capture_output=True, text=True)
        with contextlib.suppress(ProcessLookupError):
            for pid in found.stdout.split():
                os.kill(int(pid), number)

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.signal(signal.SIGTERM)
        self.process.wait(30)
        self.process.stdout.close()


@only_ours("is about the agent's own client")
class ApiClient(Story):
    def setUp(self):
        super().setUp()
        self.made = []
        self.addCleanup(self.remove_what_was_made)

    def remove_what_was_made(self):
        if not self.has_failed():
            for path in self.made:
                self.cluster.api.delete(path)

    def client(self, *flags):
        client = Client(self.cluster, *flags)
        self.addCleanup(client.end)
        return client

    def make_map(self, name, **data):
        self.made.append(f"{MAPS}/{name}")
        return self.cluster.api.create(MAPS, config_map(name, **data))

    def restart_api_server(self):
        self.cluster.kill("kube-apiserver")
        self.cluster.start("kube-apiserver")
        until(self.cluster.api_is_ready, "kube-apiserver")

    def test_applies_patches_and_says_why_it_was_refused(self):
        client = self.client()
        self.made.append(f"{MAPS}/applied")
        path = f"{MAPS}/applied?fieldManager="
        self.assertEqual(client.call("PATCH", path + "one", config_map("applied", a="1"), APPLY)["status"], 201)
        refused = client.call("PATCH", path + "two", config_map("applied", a="2"), APPLY)
        self.assertEqual(refused["status"], 409)
        self.assertIn('conflict with "one"', refused["error"])
        forced = client.call("PATCH", path + "two&force=true", config_map("applied", a="2", b="3"), APPLY)
        self.assertEqual(forced["body"]["data"], {"a": "2", "b": "3"})
        # Who applies nothing any longer gives up what it alone had.
        less = client.call("PATCH", path + "two", config_map("applied", a="2"), APPLY)
        self.assertEqual(less["body"]["data"], {"a": "2"})

        labelled = client.call("PATCH", NODE, {"metadata": {"labels": {"story": "yes"}}}, MERGE)
        self.assertEqual(labelled["body"]["metadata"]["labels"]["story"], "yes")
        client.call("PATCH", NODE, {"metadata": {"labels": {"story": None}}}, MERGE)
        counted = client.call("PATCH", f"{NODE}/status", {"status": {"capacity": {"example.com/count": "4"}}}, STRATEGIC)
        self.assertEqual(counted["body"]["status"]["capacity"]["example.com/count"], "4")
        client.call("PATCH", f"{NODE}/status", {"status": {"capacity": {"example.com/count": None},
                                                           "allocatable": {"example.com/count": None}}}, STRATEGIC)
        missing = client.call("GET", "/api/v1/nodes/nobody")
        self.assertEqual(missing["error"], 'GET /api/v1/nodes/nobody: 404 NotFound: nodes "nobody" not found')

    def test_one_event_is_made_and_its_repeats_are_a_series(self):
        client = self.client("--events")
        event = {"apiVersion": "v1", "kind": "Node", "name": "story-node", "reason": "GpuUnhealthy", "note": "n"}
        client.send(event)
        self.assertEqual(client.next(), {"status": 201, "error": ""})
        client.send(event)  # the first repeat at once
        self.assertEqual(client.next(), {"status": 200, "error": ""})
        client.send(event)
        self.assertEqual(client.next(), {"counted": True})
        client.send({**event, "later": 700})
        self.assertEqual(client.next(), {"status": 200, "error": ""})
        found = [each for each in self.cluster.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                 if each["regarding"]["name"] == "story-node"]
        self.assertEqual([each["series"]["count"] for each in found], [4])
        self.made.append(f"/apis/events.k8s.io/v1/namespaces/default/events/{found[0]['metadata']['name']}")
        shown = self.cluster.checked("kubectl", "get", "events", "--field-selector", "involvedObject.name=story-node")
        self.assertRegex(shown, r"Warning +GpuUnhealthy +node/story-node")

    def test_an_object_as_large_as_etcd_takes_is_watched_whole(self):
        client = self.client(f"--watch={MAPS}")
        client.until(lambda line: line.get("complete"))
        # Escaped, it is more than twice as long as what etcd counts.
        self.make_map("large", text="\n\"\\" * 340_000)
        line = client.until(lambda line: line.get("key") == "default/large")
        self.assertGreater(line["bytes"], 2_000_000)

    def test_a_lease_is_judged_by_when_it_changed_and_not_by_its_holders_clock(self):
        self.made.append(LEASE)

        def candidate(name, *flags):
            return self.client("--lease=default/story", f"--identity={name}", "--lease-seconds=3", *flags)
        slow = candidate("slow", "--wall-behind=3600")
        slow.until(lambda line: line.get("leads"))
        fast = candidate("fast")
        # By the clock of the other it has expired an hour ago, each time. Ten renewals take longer than the
        # lease lasts.
        renewals = set()
        until(lambda: renewals.add(self.lease()["renewTime"]) or len(renewals) > 10, "ten renewals")
        self.assertEqual(self.lease()["holderIdentity"], "slow")
        self.assertTrue(fast._queue.empty(), "it never led")
        # A process that is stopped cannot give it up: it expires, and its holder knows when it wakes.
        with slow.frozen():
            fast.until(lambda line: line.get("leads"))
        slow.until(lambda line: line.get("leads") is False)
        self.assertEqual(self.lease()["holderIdentity"], "fast")
        self.assertEqual(self.lease()["leaseTransitions"], 1)
        # One that ends gives it up: nobody has to wait until it expires.
        slow.end()
        fast.end()
        self.assertNotIn("holderIdentity", self.lease())

    def lease(self):
        return self.cluster.api.get(LEASE)["spec"]

    @extended
    def test_a_token_that_is_replaced_is_read_again(self):
        secret = self.cluster.api.create("/api/v1/namespaces/default/secrets",
                                         {"metadata": {"name": "story-token"}, "type": "Opaque"})
        bound = {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "story-token",
                                    "uid": secret["metadata"]["uid"]}}
        first = self.cluster.api.create(f"{ACCOUNT}/token", {"spec": bound})["status"]["token"]
        second = self.cluster.api.create(f"{ACCOUNT}/token", {"spec": {}})["status"]["token"]
        file = self.cluster.layout.state / "token"
        file.write_text(first)
        self.addCleanup(file.unlink)
        client = self.client(f"--token-file={file}")
        # Who we are is answered to everybody who is somebody.
        who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        ask = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        self.assertEqual(client.call("POST", who, ask)["status"], 201)
        self.cluster.api.delete("/api/v1/namespaces/default/secrets/story-token")
        refused = until(lambda: (lambda answer: answer if answer["status"] == 401 else None)(
            client.call("POST", who, ask)), "the end of the first token", 60)
        self.assertIn("401 Unauthorized", refused["error"])
        # Not after a minute, but with the next refusal.
        file.write_text(second)
        answer = client.call("POST", who, ask)
        self.assertEqual(answer["status"], 201, answer)

    @extended
    def test_a_version_that_the_server_has_forgotten_is_followed_by_a_new_list(self):
        self.make_map("stays")
        self.make_map("goes")
        client = self.client(f"--watch={MAPS}")
        client.until(lambda line: line.get("complete"))
        self.cluster.kill("kube-apiserver")
        client.until(lambda line: line.get("trouble"))
        with client.frozen():
            self.cluster.start("kube-apiserver")
            until(self.cluster.api_is_ready, "kube-apiserver")
            self.cluster.api.delete(self.made.pop())
            self.make_map("comes")
            # What a server had in its cache of events is gone with it.
            self.restart_api_server()
        seen = len(client.lines)
        client.until(lambda line: line.get("key") == "default/goes" and line["gone"])
        while not client._queue.empty():
            client.next()
        changes = {line["key"]: line["gone"] for line in client.lines[seen:] if line.get("key", "").startswith("default/")}
        self.assertEqual(changes, {"default/goes": True, "default/comes": False})

    @extended
    def test_a_server_that_is_killed_in_the_middle_of_a_line_costs_no_object(self):
        client = self.client(f"--watch={MAPS}")
        client.until(lambda line: line.get("complete"))
        names = [f"large-{number}" for number in range(12)]
        # It does not read, so the sockets' buffers end in the middle of an object.
        with client.frozen():
            for name in names:
                self.make_map(name, text=name + "x" * 1_000_000)
            self.restart_api_server()
        left = {f"default/{name}" for name in names}
        while left:
            line = client.next()
            self.assertFalse(line.get("gone"), line)
            left.discard(line.get("key"))
        self.assertTrue(any(line.get("trouble") for line in client.lines), "the server was not missed")
