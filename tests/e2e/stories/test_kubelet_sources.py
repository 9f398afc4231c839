# SPDX-License-Identifier: Apache-2.0
"""What a kubelet tells of who holds what: its checkpoint and its pod-resources service.

The agent's ledger rests on these facts; nothing of the agent but its device list takes part.
"""
import json

from cluster.cluster import until

from . import under_test
from .pods import container, pod_of
from .story import BUILD, GPU, Story
from .under_test import only_ours

ASK = BUILD / "testbed/pod_resources/pod-resources"
SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"


@only_ours("is about the kubelet, and needs a plugin's list to change on demand")
class KubeletSources(Story):
    def checkpoint(self):
        """{(uid, container): ids}"""
        data = json.loads(self.cluster.path(CHECKPOINT).read_text())["Data"]
        return {(entry["PodUID"], entry["ContainerName"]): sorted(sum(entry["DeviceIDs"].values(), []))
                for entry in data["PodDeviceEntries"] or []}

    def written(self):
        """Another value after each write."""
        status = self.cluster.path(CHECKPOINT).stat()
        return status.st_ino, status.st_mtime_ns

    def listed(self):
        """{(pod, container): ids}"""
        lines = self.cluster.checked(ASK, SOCKET, "list").splitlines()
        words = [line.split(" ") for line in lines]
        return {(pod, name): ids.split(",") for _, pod, name, resource, ids in words if resource == GPU}

    def make_the_kubelet_write(self):
        """By a list of devices, which a fault changes."""
        before = self.written()
        self.gpus_.fault("lose", "--gpu", "7")
        until(lambda: self.written() != before, "a write of the checkpoint", 30)

    def begin(self):
        self.gpus_ = self.gpus("hgx-h200")
        # Only the story asks: a List has effects.
        self.agent(*(["--pod-resources-socket="] if under_test.IS_OURS else []))
        self.until_offered(8)

    def run_with_init_container(self, name="pod", init=2, main=1):
        self.create(pod_of(name, [container(limits={GPU: main} if main else {})],
                           initContainers=[container("prepare", {GPU: init}, stays=False)]))
        return self.until_phase(name, "Running")["metadata"]["uid"]

    def test_an_init_container_is_in_the_checkpoint_and_not_listed(self):
        self.begin()
        uid = self.run_with_init_container()
        saved = self.checkpoint()
        self.assertEqual(set(saved), {(uid, "prepare"), (uid, "main")})
        self.assertLess(set(saved[uid, "main"]), set(saved[uid, "prepare"]))
        self.assertEqual(self.listed(), {("pod", "main"): saved[uid, "main"]})

    def test_an_ended_pod_stays_in_the_checkpoint_until_a_list_of_devices_after_a_list_of_pods(self):
        self.begin()
        uid = self.run_with_init_container()
        before = self.written()
        self.delete_pod("pod")
        self.assertEqual(self.listed(), {})
        self.assertEqual(self.written(), before)
        self.assertEqual({pod for pod, _ in self.checkpoint()}, {uid})
        self.make_the_kubelet_write()
        self.assertEqual(self.checkpoint(), {})

    def test_a_list_of_devices_alone_does_not_take_an_ended_pod_off(self):
        self.begin()
        uid = self.run_with_init_container()
        self.delete_pod("pod")
        self.make_the_kubelet_write()
        self.assertEqual({pod for pod, _ in self.checkpoint()}, {uid})

    def test_a_live_pods_init_container_outlives_every_write(self):
        self.begin()
        uid = self.run_with_init_container(main=0)
        self.assertEqual(self.listed(), {})
        self.make_the_kubelet_write()
        self.assertEqual(set(self.checkpoint()), {(uid, "prepare")})

    def test_a_kubelet_that_restarts_keeps_its_checkpoint_while_it_lists_nothing(self):
        self.begin()
        uid = self.run_with_init_container()
        saved = self.checkpoint()
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")

        def listed_again():
            self.assertEqual(self.checkpoint(), saved)  # whatever is listed meanwhile
            done = self.cluster.inside(ASK, SOCKET, "list")
            return done.returncode == 0 and done.stdout  # it lists no pods at first
        until(listed_again, "the pod in the kubelet's list", 30)
        self.assertEqual(self.listed(), {("pod", "main"): saved[uid, "main"]})
        self.until_offered(8)
