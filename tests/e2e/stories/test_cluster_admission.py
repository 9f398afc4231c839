# SPDX-License-Identifier: Apache-2.0
"""The rights of the agent's account, the policy that confines it to its own node, and the CRD, on a real
API server. The token is that of a pod on the node, as the agent has it."""
import re

from cluster.cluster import until
from cluster.layout import NODE_NAME

from .agent_rights import APPLY, CONDITION, EVENTS, GPU_NODES, NODES, OTHER, STRATEGIC, StoryWithRights, gpu_node
from .under_test import only_ours

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
RESOURCE = "example.com/gpu-count"
MERGE = "application/merge-patch+json"
VALUES = {"gfd": {"enabled": True}, "extendedResources": {RESOURCE: "gpus"}}

REASON = {"text": "XID 79", "clearedBy": "a reboot"}
STATUS = {
    "observedAt": "2026-11-18T02:59:00Z",
    "agent": {"version": "0.1.0", "startedAt": "2026-11-18T02:00:00Z"},
    "bootId": "a", "driver": {"kind": "nvml", "version": "580.95.05", "cuda": "13.0"},
    "configuration": {"file": "/available-configs/night", "name": "night", "generation": 3, "refused": 1,
                      "lastRefusal": "line 4: unknown key 'replica'"},
    "summary": {"gpus": 8, "healthyGpus": 7, "models": "8x H200", "memory": "1128Gi", "held": "5 containers on 5 GPUs",
                "health": "1 of 8 unhealthy: 5 XID 79"},
    "gpus": [{"slot": 5, "uuid": "GPU-5", "pci": "0000:05:00.0", "model": "NVIDIA H200", "memoryBytes": 151397597184,
              "numaNode": 0, "computeCapability": "9.0", "driverIndex": 5, "migEnabled": True, "lost": False,
              "healthy": False, "reasons": [REASON],
              "migDevices": [{"uuid": "MIG-1", "index": 0, "profile": "1g.18gb", "memoryBytes": 1, "healthy": False,
                              "reasons": [REASON]}]}],
    "links": [{"a": 0, "b": 1, "nvlinks": 18, "pcie": "node"}],
    "resources": [{"name": "nvidia.com/gpu", "share": "whole", "shares": 8, "held": 5, "free": 2, "largestFreeBlock": 1,
                   "unitBytes": 151397597184, "distinctGpus": True, "enforcement": "none",
                   "devices": [{"uuid": "GPU-5", "gpuSlot": 5, "shares": 1, "shareBytes": 151397597184,
                                "replicated": False, "held": 0, "free": 0, "healthy": False, "reason": "XID 79"}]}],
    "holders": [{"namespace": "default", "pod": "p", "podUid": "u", "container": "main", "resource": "nvidia.com/gpu",
                 "device": "GPU-0", "gpuSlot": 0, "shares": 1, "bytes": 151397597184}],
    "holdersKnown": True, "holdersProblem": "",
}


def node(**more):
    return {"apiVersion": "v1", "kind": "Node", **more}


def condition(kind, status="False"):
    now = "2026-11-18T03:00:00Z"
    return {"status": {"conditions": [{"type": kind, "status": status, "reason": "GpuUnhealthy", "message": "one of eight",
                                       "lastHeartbeatTime": now, "lastTransitionTime": now}]}}


def capacity(**counts):
    counts = {f"example.com/{name.replace('_', '-')}": count for name, count in counts.items()}
    return {"status": {"capacity": counts, "allocatable": counts}}


def event(name, instance):
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
            "eventTime": "2026-11-18T03:00:00.000000Z", "action": "Monitor", "reason": "GpuUnhealthy", "type": "Warning",
            "note": "GPU 5: XID 79", "reportingController": "tranche.dev/device-plugin", "reportingInstance": instance,
            "regarding": {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME}}


def with_unknown_fields(value):
    """With one more field in every object."""
    if isinstance(value, dict):
        return {**{key: with_unknown_fields(each) for key, each in value.items()}, "later": {"deep": [1, {"a": "b"}]}}
    return [with_unknown_fields(each) for each in value] if isinstance(value, list) else value


@only_ours("is about our chart's rights and policy")
class AgentAtTheApiServer(StoryWithRights):
    values = VALUES

    def assert_refused(self, words, requests, api=None):
        for name, request in requests.items():
            with self.subTest(request=name):
                said = self.answer(*request[:3], api=api, content_type=(*request, APPLY)[3])
                self.assertIn(words, said)
                self.assertTrue(said.startswith("403: ") and "ValidatingAdmissionPolicy" in said, said)

    def everything(self, name):
        """Each kind of write that the agent makes, for the objects of a node."""
        return {"gpu_node": ("PATCH", f"{GPU_NODES}/{name}", gpu_node(name)),
                "labels": ("PATCH", f"{NODES}/{name}", node(metadata={"labels": {"nvidia.com/gpu.count": "8"}})),
                "condition": ("PATCH", f"{NODES}/{name}/status", node(**condition(CONDITION))),
                "resource": ("PATCH", f"{NODES}/{name}/status", capacity(gpu_count="8"), STRATEGIC)}

    def test_the_agent_writes_its_own_objects_and_reads_nodes(self):
        self.addCleanup(self.clear_node, ["nvidia.com/gpu.count"], [RESOURCE])
        api = self.agent_api
        api.apply(f"{GPU_NODES}/{NODE_NAME}", gpu_node(NODE_NAME))
        api.apply(f"{GPU_NODES}/{NODE_NAME}/status", gpu_node(NODE_NAME, status=STATUS))
        api.apply(f"{NODES}/{NODE_NAME}", node(metadata={"labels": {"nvidia.com/gpu.count": "8"}}))
        api.apply(f"{NODES}/{NODE_NAME}/status", node(**condition(CONDITION)))
        api.text("PATCH", f"{NODES}/{NODE_NAME}/status", capacity(gpu_count="8"), content_type=STRATEGIC)
        api.create(EVENTS, event("own", NODE_NAME))
        self.addCleanup(self.cluster.api.delete, f"{EVENTS}/own")
        api.text("PATCH", f"{EVENTS}/own", content_type=MERGE, body={
            "series": {"count": 2, "lastObservedTime": "2026-11-18T03:01:00.000000Z"}})

        written = api.get(NODES, fieldSelector=f"metadata.name={NODE_NAME}")["items"][0]
        self.assertEqual(written["metadata"]["labels"]["nvidia.com/gpu.count"], "8")
        self.assertEqual(written["status"]["capacity"][RESOURCE], "8")
        self.assertEqual([each["status"] for each in written["status"]["conditions"] if each["type"] == CONDITION], ["False"])
        self.assertEqual(self.cluster.api.get(f"{GPU_NODES}/{NODE_NAME}")["status"], STATUS)
        self.assertEqual(self.cluster.api.get(f"{EVENTS}/own")["series"]["count"], 2)

    def test_objects_of_another_node_are_refused(self):
        self.assert_refused(f"the device plugin on node {NODE_NAME} may write only its own Node and GpuNode, not",
                            self.everything(OTHER))
        # And the other way round: it is the token that decides.
        other = self.cluster.api_as(self.token(kind="Node", name=OTHER,
                                               uid=self.cluster.api.get(f"{NODES}/{OTHER}")["metadata"]["uid"]))
        self.assert_refused(f"the device plugin on node {OTHER} may write only", self.everything(NODE_NAME), other)
        for name, request in self.everything(OTHER).items():
            with self.subTest(request=name):
                self.assertEqual(self.answer(*request[:3], api=other, content_type=(*request, APPLY)[3]), "")

    def test_a_token_without_a_node_is_refused(self):
        nobody = self.cluster.api_as(self.token())
        self.assert_refused("names no node", self.everything(NODE_NAME), nobody)
        self.assert_refused("names no node", {"event": ("POST", EVENTS, event("x", NODE_NAME), "application/json")}, nobody)

    def test_of_its_own_node_only_what_its_features_write_can_be_changed(self):
        here = f"{NODES}/{NODE_NAME}"
        def changes(body, *words, at=here):
            said = self.answer("PATCH", at, body, content_type=STRATEGIC)
            for each in ("the device plugin may not change", *words):
                self.assertIn(each, said)
        changes({"spec": {"unschedulable": True}}, "of its Node: spec")
        changes({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "of its Node: spec")
        changes({"metadata": {"annotations": {"a": "b"}}}, "metadata.annotations")
        changes({"metadata": {"finalizers": ["example.com/a"]}}, "metadata.finalizers")
        changes({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": OTHER, "uid": "u"}]}},
                "metadata.ownerReferences")
        changes({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": "", "nvidia.com/a": "b"}}},
                "of its Node: label node-role.kubernetes.io/control-plane")
        changes({"metadata": {"labels": {"kubernetes.io/arch": None}}}, "label kubernetes.io/arch")
        # Below a prefix of its own, and yet not its own.
        for label in ("nvidia.com/device-plugin.config", "nvidia.com/mig.config", "nvidia.com/gpu.deploy.device-plugin"):
            changes({"metadata": {"labels": {label: "mine"}}}, f"label {label}")
        changes({"metadata": {"managedFields": [{}]}}, "metadata.managedFields")
        status = f"{here}/status"
        changes({"metadata": {"labels": {"example.com/by-status": "a"}}}, "label example.com/by-status", at=status)
        changes(condition("Ready"), "condition Ready", at=status)
        changes({"status": {"conditions": [{"$patch": "delete", "type": "Ready"}]}}, "condition Ready", at=status)
        changes({"status": {"addresses": [{"type": "ExternalIP", "address": "192.0.2.1"}]}}, "status.addresses", at=status)
        changes({"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}, "status.daemonEndpoints", at=status)
        changes(capacity(other="8"), "the capacity of example.com/other, example.com/other", at=status)
        changes({"status": {"capacity": {"cpu": "900"}}}, "the capacity of cpu", at=status)
        changes({"status": {"allocatable": {"memory": None}}}, "the capacity of memory", at=status)

    def test_a_gpu_node_has_no_owner_but_its_node_and_no_finalizer(self):
        def owned(**owner):
            return {"metadata": {"name": NODE_NAME, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME, "uid": "u", **owner}]}}
        self.assert_refused("no finalizer and no owner but its own Node", {
            name: ("PATCH", f"{GPU_NODES}/{NODE_NAME}", {**gpu_node(NODE_NAME), **change}) for name, change in {
                "another node": owned(name=OTHER), "another kind": owned(kind="Pod"), "blocks": owned(blockOwnerDeletion=True),
                "finalizer": {"metadata": {"name": NODE_NAME, "finalizers": ["example.com/a"]}}}.items()})
        self.assertEqual(self.answer("PATCH", f"{GPU_NODES}/{NODE_NAME}", {**gpu_node(NODE_NAME), **owned()}), "")

    def test_events_of_another_reporter_are_refused(self):
        self.cluster.api.create(EVENTS, event("others", OTHER))
        self.addCleanup(self.cluster.api.delete, f"{EVENTS}/others")
        series = {"series": {"count": 9, "lastObservedTime": "2026-11-18T03:01:00.000000Z"}}
        self.assert_refused("only events with its node as reportingInstance", {
            "new": ("POST", EVENTS, event("x", OTHER), "application/json"),
            "in the kubelet's name": ("POST", EVENTS, {**event("x", NODE_NAME), "reportingController": "kubelet"},
                                      "application/json"),
            "another's": ("PATCH", f"{EVENTS}/others", series, MERGE)})

    def test_the_account_can_do_nothing_else(self):
        account = f"--as=system:serviceaccount:default:{self.account}"
        shown = self.cluster.checked("kubectl", "auth", "can-i", "--list", account, "--no-headers")
        # Besides what everybody with an account may ask.
        lines = {tuple(line.split()) for line in shown.splitlines() if not re.search(r"selfsubject|\[/", line)}
        self.assertEqual(lines, {
            ("nodes", "[]", "[]", "[get", "list", "watch", "patch]"), ("nodes/status", "[]", "[]", "[patch]"),
            ("gpunodes.gpu.tranche.dev", "[]", "[]", "[create", "patch]"),
            ("gpunodes.gpu.tranche.dev/status", "[]", "[]", "[patch]"),
            ("events.events.k8s.io", "[]", "[]", "[create", "patch]")})

    def test_everybody_else_is_not_judged(self):
        self.cluster.checked("kubectl", "label", "node", OTHER, "nvidia.com/gpu.count=8")
        self.cluster.checked("kubectl", "cordon", OTHER)
        heartbeat = next(each for each in self.cluster.api.get(f"{NODES}/{NODE_NAME}")["status"]["conditions"]
                         if each["type"] == "Ready")
        self.assertEqual(heartbeat["status"], "True")

    def test_kubectl_shows_a_node_on_one_line(self):
        self.agent_api.apply(f"{GPU_NODES}/{NODE_NAME}", gpu_node(NODE_NAME))
        self.agent_api.apply(f"{GPU_NODES}/{NODE_NAME}/status", gpu_node(NODE_NAME, status=STATUS))
        head, line = self.cluster.checked("kubectl", "get", "gpunodes").splitlines()
        self.assertEqual(head.split(), ["NAME", "GPUS", "HEALTHY", "MODELS", "ALLOCATED", "OBSERVED"])
        self.assertRegex(line, r"^node-1 +8 +7 +8x H200 +5 containers on 5 GPUs +\S+$")
        self.assertLessEqual(len(line), 110)
        wide = self.cluster.checked("kubectl", "get", "gpun", "-o", "wide")
        for words in ("1 of 8 unhealthy: 5 XID 79", "1128Gi", "580.95.05", "night", "line 4: unknown key 'replica'", "0.1.0"):
            self.assertIn(words, wide)
        def explained():  # what the API server says of a new kind comes a moment later
            done = self.cluster.inside("kubectl", "explain", "gpunode.status.gpus")
            return done.stdout if done.returncode == 0 else None
        self.assertIn("stays the same for its PCI address", " ".join(until(explained, "the explanation", 30).split()))

    def test_fields_of_a_newer_agent_survive(self):
        newer = {**with_unknown_fields(STATUS), "configuration": with_unknown_fields(
            {**STATUS["configuration"], "generation": 4})}
        newer["driver"]["kind"] = "one-of-next-year"
        self.agent_api.apply(f"{GPU_NODES}/{NODE_NAME}", gpu_node(NODE_NAME))
        self.agent_api.apply(f"{GPU_NODES}/{NODE_NAME}/status", gpu_node(NODE_NAME, status=newer))
        self.assertEqual(self.cluster.api.get(f"{GPU_NODES}/{NODE_NAME}")["status"], newer)
        # What it no longer applies goes, known or not, also in a list with keys.
        self.agent_api.apply(f"{GPU_NODES}/{NODE_NAME}/status", gpu_node(NODE_NAME, status={**STATUS, "gpus": []}))
        left = self.cluster.api.get(f"{GPU_NODES}/{NODE_NAME}")["status"]
        self.assertEqual(left.pop("gpus", []), [])  # merged, an empty list is as good as none
        self.assertEqual(left, {key: value for key, value in STATUS.items() if key != "gpus"})

    def test_a_wrong_status_is_refused_with_the_field(self):
        self.agent_api.apply(f"{GPU_NODES}/{NODE_NAME}", gpu_node(NODE_NAME))
        for status, words in (({"observedAt": "yesterday"}, "status.observedAt"), ({"gpus": [{"slot": 1}]}, "uuid"),
                              ({"summary": {"gpus": "eight"}}, ".status.summary.gpus")):
            said = self.answer("PATCH", f"{GPU_NODES}/{NODE_NAME}/status", gpu_node(NODE_NAME, status=status))
            self.assertIn(words, said)

    def test_the_api_server_has_nothing_to_say_of_the_policy_itself(self):
        def judged():
            policy = self.cluster.api.get(f"{POLICIES}/agent.default.{self.account}")
            status = policy.get("status", {})
            return status if status.get("observedGeneration") == policy["metadata"]["generation"] else None
        self.assertEqual(until(judged, "the type check of the policy", 30).get("typeChecking", {}), {})
