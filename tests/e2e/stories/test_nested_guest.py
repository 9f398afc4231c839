# SPDX-License-Identifier: Apache-2.0
"""The guest's half of nested clusters: a node that offers what is in a file."""
import json

from cluster.cluster import until

from .pods import pod
from .story import Story
from .under_test import only_ours

MEMORY = "aliyun.com/gpu-mem"


@only_ours("knows no nested clusters")
class NestedGuest(Story):
    def setUp(self):
        super().setUp()
        self.folder = self.cluster.layout.state / "granted"
        self.folder.mkdir()
        self.addCleanup(self.cluster.inside, "rm", "-rf", self.folder)
        self.file = self.folder / "gpu.env"

    def guest(self, *flags):
        return self.agent("--profile=nested-guest", "--pass-device-specs", f"--gpu-env={self.file}",
                          f"--host-grants={self.folder}/grants", *flags)

    def write_grant(self, *devices, generation=1):
        folder = self.folder / "grants" / "r"
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / "new"
        unfinished.write_text(json.dumps({"version": 1, "generation": generation, "resource": "r", "devices": [
            {"uuid": uuid, "healthy": True, **more} for uuid, more in devices]}))
        unfinished.rename(folder / "grant.json")

    def test_what_is_in_the_file_is_offered_and_changes_are_followed(self):
        uuids = self.gpus("dgx-a100").uuids()
        agent = self.guest()
        agent.until_logged("nothing is offered until it is known what the host granted")
        self.file.write_text(f"{uuids[3]}, {uuids[5]}\r\n")
        self.until_offered(2)
        self.assertEqual(self.run_pod("both", 2).reachable_minors(), [3, 5])
        self.file.write_text(f"{uuids[3]},{uuids[5]},{uuids[7]},GPU-unknown")
        self.until_offered(3)
        agent.until_logged("what the driver here does not have: GPU-unknown")
        self.file.write_text(uuids[7])
        self.until_offered(1)
        self.assertEqual(self.phase("both"), "Running")
        self.delete_pod("both")
        self.assertEqual(self.run_pod("one", 1).reachable_minors(), [7])

    def test_bad_input_takes_nothing_away_and_is_told_of(self):
        uuids = self.gpus("dgx-a100").uuids()
        self.file.write_text(",".join(uuids[:2]))
        agent = self.guest()
        self.until_offered(2)
        self.file.write_bytes(bytes(range(256)))
        agent.until_logged("byte 1 is 0, which no list of GPUs has")
        self.file.write_text(",".join(f"GPU-{number:032x}" for number in range(280_000)))
        agent.until_logged("larger than 1048576 bytes")
        (self.folder / "grants").mkdir()
        (self.folder / "grants" / "grant.json").write_text('{"version": 2}')
        agent.until_logged("its version is 2")
        self.assertEqual(self.offered(), (2, 2))
        (self.folder / "grants" / "grant.json").unlink()
        self.file.write_text("")
        self.until_nothing_is_offered()
        self.file.write_text(uuids[4])
        self.until_offered(1)
        self.assertTrue(agent.is_running())

    def test_gpus_that_come_back_while_the_kubelet_hangs_go_with_the_agent(self):
        """The kubelet mixes two registrations up if it has not seen the end of the first: the
        second's end then goes unnoticed, and the GPUs of an agent that is gone stay offered."""
        uuids = self.gpus("dgx-a100").uuids()
        self.file.write_text(uuids[0])
        agent = self.guest()
        self.until_offered(1)
        with self.cluster.frozen("kubelet"):
            self.file.write_text("")
            agent.until_logged("resource is no longer offered")
            self.file.write_text(uuids[4])
            agent.until_logged("waiting for the kubelet to close a connection")
        until(lambda: agent.log().count(" registered ") == 2, "a second registration", 30)
        self.assertEqual(self.run_pod("pod").reachable_minors(), [4])
        agent.stop()
        self.until_nothing_is_offered()

    def test_mig_devices_can_be_granted(self):
        device = next(d for d in self.gpus("dgx-a100-mig-mixed").mig_devices() if d.profile == "2g.10gb")
        self.file.write_text(device.uuid)
        agent = self.guest("--mig-strategy=mixed")
        self.until_offered(1, "nvidia.com/mig-2g.10gb")
        self.assertEqual(len(agent.devices()["gpus"]), 1)
        view = self.run_pod("slice", 1, "nvidia.com/mig-2g.10gb")
        self.assertEqual(view.visible(), [device.uuid])
        agent.stop()
        self.until_nothing_is_offered()
        agent = self.guest()
        agent.until_logged(f"device is not offered: {device.uuid}")

    def test_a_share_of_memory_can_be_cut_again_and_not_exceeded(self):
        uuids = self.gpus("dgx-a100").uuids()
        self.write_grant((uuids[2], {"share": "memory", "grantedBytes": 10 << 30}), (uuids[6], {}))
        self.guest("--profile=gpushare", "--nested-guest")
        self.until_offered(10 + 40, MEMORY)
        self.assertEqual(self.run_pod("large", 30, MEMORY).reachable_minors(), [6])
        self.assertEqual(self.run_pod("small", 10, MEMORY).reachable_minors(), [2])
        self.create(pod("none", {MEMORY: 11}))
        self.until_unschedulable("none", f"Insufficient {MEMORY}")
        self.write_grant((uuids[2], {"share": "memory", "grantedBytes": 10 << 30}),
                         (uuids[6], {"healthy": False, "reasons": ["it fell out"]}), generation=2)
        self.until_offered(10, MEMORY, capacity=50)
