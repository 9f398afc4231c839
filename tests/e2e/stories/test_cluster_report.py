# SPDX-License-Identifier: Apache-2.0
"""What the agent publishes at the API server: GpuNode, the Node's labels, condition and counts, and events."""
import json
import re
import time

from cluster.cluster import until

from .agent_rights import STRATEGIC
from .reporting import COUNT, GPU_NODE, LABEL, NODE, ReportingStory
from .story import GPU
from .test_policies import MEMORY, memory
from .under_test import only_ours

GIB = 1 << 30
CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"


def resource(status, name):
    return next(each for each in status["resources"] if each["name"] == name)


@only_ours("is about what our agent publishes")
class ReportedHealth(ReportingStory):
    def test_a_lost_gpu_is_told_everywhere_with_what_clears_it_until_it_recovers(self):
        gpus = self.gpus("t4-quad")
        self.reporting()
        self.until_all_is_reported(4)
        began = self.until_condition("True")
        lost = self.run_pod("has-it").visible()[0]
        self.until_gpu_node(lambda status: status["holders"], "the holder")

        gpus.fault("lose", "--gpu", lost)
        condition = self.until_condition("False")
        self.assertEqual(condition["reason"], "GpuUnhealthy")
        self.assertRegex(condition["message"],
                         rf"GPU \d \({lost}\): .+ \(cleared by: the GPU answers again, after a reset")
        self.assertGreaterEqual(condition["lastTransitionTime"], began["lastTransitionTime"])
        status = self.until_gpu_node(lambda status: status["summary"].get("healthyGpus") == 3, "a lost GPU")
        bad = [gpu for gpu in status["gpus"] if not gpu["healthy"]]
        self.assertEqual([gpu["uuid"] for gpu in bad], [lost])
        self.assertEqual([sorted(reason) for reason in bad[0]["reasons"]], [["clearedBy", "text"]])
        self.assertIn("answers again", bad[0]["reasons"][0]["clearedBy"])
        devices = resource(status, GPU)["devices"]
        self.assertEqual([device["uuid"] for device in devices if not device["healthy"]], [lost])
        words = (lost, "is unhealthy", "cleared by: the GPU answers again")
        self.assertEqual(self.until_event("GpuUnhealthy", *words)["type"], "Warning")
        self.until_event("GpuUnhealthy", *words, kind="Pod", name="has-it")
        for shown in ("node/node-1", "pod/has-it"):
            self.assertRegex(self.cluster.checked("kubectl", "describe", shown), rf"Warning +GpuUnhealthy .*{lost}")
        head, line = self.cluster.checked("kubectl", "get", "gpunodes", "-o", "wide").splitlines()
        columns = dict(zip(re.split(" {2,}", head.strip()), re.split(" {2,}", line.strip())))
        self.assertEqual([columns[name] for name in ("NAME", "GPUS", "HEALTHY", "MODELS", "ALLOCATED")],
                         ["node-1", "4", "3", "4x Tesla T4", "1 container on 1 GPU"])
        self.assertRegex(columns["HEALTH"], rf"^1 of 4 unhealthy: GPU {bad[0]['slot']}: .")

        gpus.fault("come-back", "--gpu", lost)
        again = self.until_condition("True")
        self.assertGreater(again["lastTransitionTime"], condition["lastTransitionTime"])
        self.until_all_is_reported(4)
        self.assertEqual(self.until_event("GpuHealthy", lost, "healthy again")["type"], "Normal")
        self.until_event("GpuHealthy", lost, kind="Pod", name="has-it")
        self.assertEqual([event["reason"] for event in self.events()], ["GpuUnhealthy", "GpuHealthy"])

    def test_a_fault_that_comes_again_is_counted_in_its_event(self):
        gpus = self.gpus("t4-quad")
        self.reporting()
        self.until_all_is_reported(4)
        lost = gpus.uuids()[1]
        for healthy in (3, 4, 3):
            gpus.fault("come-back" if healthy == 4 else "lose", "--gpu", lost)
            self.until_all_is_reported(4, healthy=healthy)
        def counts(events):
            return [(event["reason"], event.get("series", {}).get("count", 1)) for event in events]
        self.until_seen(self.events, lambda events: counts(events) == [("GpuUnhealthy", 2), ("GpuHealthy", 1)],
                        "an event with two faults")

    def test_while_the_driver_is_away_nothing_is_known_and_no_gpu_is_called_unhealthy(self):
        gpus = self.gpus("t4-quad")
        self.reporting()
        self.until_all_is_reported(4)
        labels = self.labels()
        gpus.fault("driver", "unload")
        self.assertEqual(self.until_condition("Unknown")["reason"], "DriverUnavailable")
        self.until_event("DriverUnavailable")
        self.until_gpu_node(lambda status: status["summary"]["health"].startswith("Unknown: "), "unknown health")
        self.assertNotIn("healthyGpus", self.gpu_node()["status"]["summary"])
        self.assertEqual(self.labels(), labels)
        self.assertEqual(self.offered(COUNT), (4, 4))
        gpus.fault("driver", "load")
        self.until_all_is_reported(4)
        self.until_event("DriverAvailable")
        self.assertEqual([event["reason"] for event in self.events()], ["DriverUnavailable", "DriverAvailable"])


@only_ours("is about what our agent publishes")
class ReportedHolders(ReportingStory):
    def until_held(self, holders, **free):
        """The pods, and of each resource what is free in all and on one device."""
        def reported(status):
            return sorted((each["pod"], each["resource"], each["shares"]) for each in status["holders"])
        def is_right(status):
            left = {name: (resource(status, key)["free"], resource(status, key)["largestFreeBlock"])
                    for name, key in (("whole", GPU), ("units", MEMORY))}
            return reported(status) == holders and left == free and status["holdersKnown"]
        return self.until_gpu_node(is_right, f"holders {holders} and free {free}")

    def test_each_holder_is_named_and_what_is_free_follows(self):
        gpus = self.gpus("t4-quad")
        file = self.config_file({"version": "v1", "tranche": {"policies": [memory(devices=[2, 3])]}})
        self.linked("--gpu-node", f"--config-file={file}")
        self.until_held([], whole=(2, 1), units=(30, 15))

        device = self.run_pod("whole").visible()[0]
        views = {name: self.run_pod(name, count, MEMORY).reachable_minors()
                 for name, count in (("four", 4), ("twelve", 12))}
        self.assertEqual(sorted(views.values()), [[2], [3]])
        status = self.until_held([("four", MEMORY, 4), ("twelve", MEMORY, 12), ("whole", GPU, 1)],
                                 whole=(1, 1), units=(14, 11))
        holders = {each.pop("pod"): each for each in status["holders"]}
        uuids = gpus.uuids()
        for name, uuid, held in (("whole", device, 15 * GIB), ("four", uuids[views["four"][0]], 4 * GIB)):
            holder = holders[name]
            self.assertEqual(holder["podUid"], self.get(name)["metadata"]["uid"])
            self.assertEqual((holder["namespace"], holder["container"], holder["device"]), ("default", "main", uuid))
            self.assertEqual(holder["gpuSlot"], uuids.index(uuid))
            self.assertEqual(holder["bytes"], held)
        self.assertEqual([resource(status, key)["held"] for key in (GPU, MEMORY)], [1, 16])
        free = {each["gpuSlot"]: each["free"] for each in resource(status, MEMORY)["devices"]}
        self.assertEqual(free, {views["four"][0]: 11, views["twelve"][0]: 3})
        self.assertIn("3 containers on 3 GPUs", self.cluster.checked("kubectl", "get", "gpunodes"))

        self.delete_pod("four")
        self.delete_pod("whole")
        self.until_held([("twelve", MEMORY, 12)], whole=(2, 1), units=(18, 15))


@only_ours("is about what our agent publishes")
class ReportsPutBack(ReportingStory):
    """What somebody else changes."""

    def setUp(self):
        super().setUp()
        self.gpus("t4-quad")
        self.plugin = self.reporting()
        self.until_all_is_reported(4)

    def test_labels_that_somebody_removes_or_changes_are_set_again(self):
        before = self.labels()
        for name in (LABEL, "nvidia.com/gpu.product", "nvidia.com/gpu.memory", "nvidia.com/cuda.driver-version.full"):
            self.assertIn(name, before)
        changes = {LABEL: None, "nvidia.com/gpu.product": "toaster"}
        left = self.cluster.api.merge(NODE, {"metadata": {"labels": changes}})["metadata"]["labels"]
        self.assertEqual({name: left.get(name) for name in changes}, changes)
        self.until_seen(self.labels, lambda labels: labels == before, "the labels of before")

    def test_a_count_that_somebody_removes_is_written_again(self):
        gone = {COUNT: None}
        left = self.cluster.api.merge(f"{NODE}/status", {"status": {"capacity": gone, "allocatable": gone}})
        self.assertNotIn(COUNT, left["status"]["capacity"])
        self.until_offered(4, COUNT)

    def test_a_condition_that_somebody_changes_is_written_again(self):
        self.cluster.api.text("PATCH", f"{NODE}/status", content_type=STRATEGIC, body={
            "status": {"conditions": [{"type": "GpusHealthy", "status": "False", "reason": "Rumour"}]}})
        self.assertEqual(self.until_condition("True")["reason"], "AllGpusHealthy")

    def test_a_count_that_the_kubelet_sets_to_0_is_written_again(self):
        """As it does where it takes the Node for that of an earlier machine."""
        zero = {COUNT: "0"}
        said = self.cluster.api.text("PATCH", f"{NODE}/status?fieldManager=kubelet", content_type=STRATEGIC,
                                     body={"status": {"capacity": zero, "allocatable": zero}})
        self.assertEqual(json.loads(said)["status"]["capacity"][COUNT], "0")
        self.until_offered(4, COUNT)

    def test_a_kubelet_without_checkpoint_costs_no_count(self):
        self.is_cluster_spent = True  # such a kubelet offers what plugins of earlier stories did
        self.cluster.stop("kubelet")
        self.plugin.until_it_misses_the_kubelet()
        self.cluster.checked("rm", CHECKPOINT)
        began = time.time()
        self.cluster.start("kubelet")
        until(lambda: self.cluster.node_is_ready(began), "the node's condition Ready", 60)
        self.until_offered(4)
        self.until_offered(4, COUNT)
        self.assertEqual(len(self.run_pod("new").reachable_minors()), 1)

    def test_a_gpu_node_that_somebody_deletes_is_made_again_with_the_next_news(self):
        first = self.gpu_node()["metadata"]["uid"]
        self.cluster.api.delete(GPU_NODE)
        self.run_pod("new")
        self.until_gpu_node(lambda status: [each["pod"] for each in status["holders"]] == ["new"], "the pod")
        self.assertNotEqual(self.gpu_node()["metadata"]["uid"], first)

    def test_a_gpu_node_goes_with_its_node_and_comes_with_the_next(self):
        first = self.node()["metadata"]["uid"]
        owners = self.gpu_node()["metadata"]["ownerReferences"]
        self.assertEqual(owners, [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": first}])
        # The garbage collector looks for new kinds twice a minute, and when it starts.
        self.cluster.kill("kube-controller-manager")
        self.cluster.start("kube-controller-manager")
        self.cluster.stop("kubelet")
        self.cluster.api.delete(NODE)
        until(lambda: not self.gpu_node(), "the end of the GpuNode", 60)
        self.cluster.start("kubelet")
        until(self.cluster.node_is_ready, "the node's condition Ready", 60)
        self.until_all_is_reported(4)
        second = self.node()["metadata"]["uid"]
        self.assertNotEqual(second, first)
        self.assertEqual([owner["uid"] for owner in self.gpu_node()["metadata"]["ownerReferences"]], [second])
        self.until_offered(4)


@only_ours("is about what our agent publishes")
class ReportsSwitched(ReportingStory):
    def test_features_that_a_reload_switches_on_and_off_come_and_go_without_a_restart(self):
        self.gpus("t4-quad")
        features = {"cluster": {"gpuNode": True, "condition": "GpusHealthy", "extendedResources": [f"{COUNT}=gpus"]},
                    "nodeLabels": "api"}
        file = self.config_file({"version": "v1"})
        agent = self.linked(f"--config-file={file}")
        self.until_offered(4)
        self.assertEqual((self.labels(), self.condition()), ({}, None))
        self.assertEqual((self.gpu_node(), self.offered(COUNT)), (None, None))
        # As on a Node that the kubelet has just registered, no field of the capacity has an owner. The last field
        # that has one must not take the others with it.
        self.cluster.api.merge(NODE, {"metadata": {"managedFields": [{}]}})
        self.config_file({"version": "v1", "tranche": features})
        self.until_all_is_reported(4)
        self.config_file({"version": "v1", "tranche": {"cluster": {"gpuNode": True}}})
        self.until_seen(self.labels, lambda labels: labels == {}, "no labels")
        self.until_seen(self.condition, lambda condition: condition is None, "no condition")
        self.until_seen(lambda: self.offered(COUNT), lambda counts: counts is None, f"no {COUNT}")
        self.until_gpu_node(lambda status: status["configuration"]["generation"] == 3, "the third configuration")
        self.assertEqual(agent.log().count("tranche-device-plugin starts"), 1)
        self.assertEqual(len(self.run_pod("new").reachable_minors()), 1)
