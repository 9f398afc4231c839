# SPDX-License-Identifier: Apache-2.0
"""Two real kubelets, and an agent of ours at each: the outer one grants, the inner one offers what it was granted."""
import json

from cluster.cluster import until

from .nested import NestedStory
from .story import GPU
from .story_sets import extended
from .under_test import only_ours

FAST = "--health-check-interval=500ms"
NODE_MEMORY, NODE_GPU = "example.com/node-memory", "example.com/node-gpu"


@only_ours("knows no nested clusters")
class NestedGpus(NestedStory):
    def start(self, *guest_flags, host_flags=(), **options):
        self.driver = self.gpus("dgx-a100")
        self.host = self.agent("--profile=nested-host", FAST, *host_flags)
        self.until_offered(8)
        inner = self.start_node_pod("tenant", gpus=2, **options)
        guest = inner.agent("--profile=nested-guest", "--pass-device-specs", FAST, *guest_flags)
        return inner, guest

    def granted(self, inner):
        return inner.environment()["NVIDIA_ALLOCATED_DEVICES"].split(",")

    def seen_by(self, inner, name):
        """The real GPUs that an inner pod can open, by uuid."""
        return [self.driver.uuids()[minor] for minor in inner.look_again(name).reachable_minors()]

    def test_two_of_eight_gpus_from_grant_to_loss_to_other_gpus(self):
        inner, guest = self.start()
        granted = self.granted(inner)
        self.assertEqual(inner.environment()["NVIDIA_VISIBLE_DEVICES"].split(","), self.driver.uuids())
        inner.until_offered(2)
        view = inner.run_pod("one", 1)
        used = view.visible()[0]
        self.assertIn(used, granted)
        self.assertEqual(self.seen_by(inner, "one"), [used])

        # The host loses it, and it comes back.
        self.driver.fault("lose", "--gpu", used)
        inner.until_offered(1, capacity=2)
        self.until_offered(7, capacity=8)
        self.assertEqual(inner.phase("one"), "Running")
        self.driver.fault("come-back", "--gpu", used)
        inner.until_offered(2)

        # What only the host knows reaches the guest, too.
        self.host.command("release", used)
        inner.until_offered(1, capacity=2)
        reasons = next(gpu["health"]["reasons"] for gpu in guest.devices()["gpus"] if gpu["uuid"] == used)
        self.assertTrue(any(reason.startswith("host: released on request") for reason in reasons), reasons)
        self.host.command("resume")
        inner.until_offered(2)

        # Both agents are killed, and come back.
        self.host.kill()
        guest.kill()
        inner.until_nothing_is_offered()
        self.host.start()
        guest.start()
        self.until_offered(8)
        inner.until_offered(2)
        self.assertEqual(self.seen_by(inner, "one"), [used])
        other = next(uuid for uuid in granted if uuid != used)
        self.assertEqual(inner.run_pod("two", 1).visible(), [other])

        # Another pod takes these GPUs while the node is away; it comes again, with others.
        inner.down()
        guest.process.wait(30)
        self.assertLessEqual(set(granted), set(self.run_pod("heir", 8).env["NVIDIA_ALLOCATED_DEVICES"].split(",")))
        self.delete_pod("heir")
        self.driver.fault("lose", "--gpu", granted[0])
        self.driver.fault("lose", "--gpu", granted[1])
        self.until_offered(6, capacity=8)
        inner.up()
        others = self.granted(inner)
        self.assertFalse(set(others) & set(granted))
        for uuid in granted:
            self.driver.fault("come-back", "--gpu", uuid)
        guest.start()
        inner.until_offered(2)
        for name in ("one", "two"):  # of the last life; their GPUs are not this node's
            self.assertIn("cannot allocate", inner.until_phase(name, "Failed")["status"]["message"])
            inner.cluster.api.delete(f"/api/v1/namespaces/default/pods/{name}")
        until(lambda: not inner.exists("one") and not inner.exists("two"), "the end of the old pods", 60)
        self.assertEqual(sorted(inner.run_pod("both", 2).visible()), sorted(others))
        self.assertEqual(sorted(self.seen_by(inner, "both")), sorted(others))

    @extended
    def test_granted_gpus_are_cut_again_inside(self):
        inner, _ = self.start("--gpu-duplication-factor=10")
        inner.until_offered(20, "deepomatic.com/shared-gpu")
        shares = inner.run_pod("two", 2, "deepomatic.com/shared-gpu")
        self.assertEqual(sorted(shares.visible()), sorted(self.granted(inner)))

    @extended
    def test_a_guest_of_the_seed_reads_gpu_env_alone(self):
        """No JSON is looked at: the list is all that a plugin of the seed's kind knows."""
        inner, guest = self.start("--host-grants=/nowhere")
        inner.until_offered(2)
        guest.until_logged("source=/gpu.env")
        lost = self.granted(inner)[0]
        self.host.command("release", lost)
        inner.until_offered(1)
        self.host.command("resume")
        inner.until_offered(2)

    @extended
    def test_a_guest_of_the_seed_reads_what_the_script_of_its_pod_wrote(self):
        script = "echo $NVIDIA_ALLOCATED_DEVICES > /gpu.env; touch /written-by-script"
        inner, guest = self.start("--host-grants=/nowhere", host_flags=("--nested-gpu-env=pod",),
                                  lifecycle={"postStart": {"exec": {"command": ["sh", "-c", script]}}})
        inner.cluster.checked("test", "-e", "/written-by-script")
        inner.until_offered(2)
        guest.until_logged("source=/gpu.env")

    @extended
    def test_a_restarted_node_pod_has_its_grant_and_nothing_else(self):
        inner, guest = self.start(changes={"restartPolicy": "Always"})
        inner.until_offered(2)
        before = json.loads(inner.cluster.checked("cat", "/gpu-grants/nvidia.com_gpu/grant.json"))
        inner.restart_container()
        guest.process.wait(30)
        after = json.loads(inner.cluster.checked("cat", "/gpu-grants/nvidia.com_gpu/grant.json"))
        self.assertEqual([d["uuid"] for d in after["devices"]], [d["uuid"] for d in before["devices"]])
        guest.start()
        inner.until_offered(2)
        self.assertEqual(inner.offered(GPU), (2, 2))

    @extended
    def test_a_part_of_a_gpu_is_all_that_a_guest_has_by_whatever_names(self):
        """Two resources in one node pod: memory of one GPU, and another GPU."""
        self.driver = self.gpus("dgx-a100")
        file = self.cluster.layout.state / "agent-config.yaml"
        file.write_text(json.dumps({"version": "v1", "tranche": {"policies": [
            {"resource": NODE_MEMORY, "devices": [0], "share": "memory", "unit": "GiB", "dialect": "nested-host"},
            {"resource": NODE_GPU, "devices": [1], "dialect": "nested-host"}]}}))
        self.addCleanup(file.unlink, missing_ok=True)
        self.agent(f"--config-file={file}", FAST)
        self.until_offered(40, NODE_MEMORY)
        inner = self.start_node_pod("tenant", gpus=0, limits={NODE_MEMORY: 10, NODE_GPU: 1})
        inner.agent("--profile=gpushare", "--nested-guest", "--pass-device-specs", FAST)
        inner.until_offered(10 + 40, "aliyun.com/gpu-mem")
        self.assertEqual(inner.run_pod("most", 10, "aliyun.com/gpu-mem").reachable_minors(), [0])
        self.assertEqual(inner.run_pod("other", 20, "aliyun.com/gpu-mem").reachable_minors(), [1])
