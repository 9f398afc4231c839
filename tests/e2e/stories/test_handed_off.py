# SPDX-License-Identifier: Apache-2.0
"""The host's half of nested clusters: what a pod gets that is to be a node."""
import json

from cluster.cluster import until

from .pods import container, pod_of
from .story import GPU, Story
from .story_sets import extended
from .under_test import only_ours

HANDED_OFF = "/var/lib/kubelet/device-plugins/tranche/nested"
GRANT = "/gpu-grants/nvidia.com_gpu"
# Before anything else is done: the first line of the first process.
TELL_FILES = f'echo "told env $(cat /gpu.env)"; echo "told json $(cat {GRANT}/grant.json | tr -d "\\n")"\n'


@only_ours("knows no nested clusters")
class HandedOff(Story):
    def setUp(self):
        super().setUp()
        self.driver = self.gpus("dgx-a100")

    def host_agent(self, *flags):
        agent = self.agent("--profile=nested-host", "--pass-device-specs", "--health-check-interval=500ms", *flags)
        self.until_offered(8)
        return agent

    def node_pod(self, name, count=1, **options):
        return self.run_pod(name, count, first=TELL_FILES, **options)

    def files(self):
        return self.cluster.inside("ls", HANDED_OFF).stdout.split()

    def read(self, name, path):
        return self.cluster.checked("kubectl", "exec", name, "--", "cat", path)

    def grant(self, name):
        return json.loads(self.read(name, f"{GRANT}/grant.json"))

    def test_a_pod_sees_all_gpus_and_is_told_which_are_its_own_before_its_first_line(self):
        self.host_agent()
        view = self.node_pod("node", 2)
        self.assertEqual(view.visible(), self.driver.uuids())
        granted = view.env["NVIDIA_ALLOCATED_DEVICES"].split(",")
        self.assertEqual([self.driver.uuids()[minor] for minor in view.reachable_minors()], granted)
        self.assertEqual(view.told["env"], ",".join(granted))
        told = json.loads(view.told["json"])
        self.assertEqual((told["version"], told["resource"]), (1, GPU))
        self.assertEqual([device["uuid"] for device in told["devices"]], granted)
        self.assertTrue(all(device["healthy"] for device in told["devices"]))
        self.assertIn("ro", view.mounts[GRANT][1].split(","))
        self.assertIn("ro", view.mounts["/gpu.env"][1].split(","))

    def test_a_pod_cannot_fill_the_nodes_disk_through_what_it_is_handed(self):
        """Root in the pod, with all that the runtime lets it: neither writing, nor making the file its own first."""
        self.host_agent()
        self.run_pod("node", 1)
        for attempt in ("dd if=/dev/zero of=/gpu.env bs=1M count=300", "chown 1000 /gpu.env", "chmod 777 /gpu.env",
                        f"dd if=/dev/zero of={GRANT}/big bs=1M count=300"):
            done = self.cluster.inside("kubectl", "exec", "node", "--", "sh", "-c", attempt)
            self.assertNotEqual(done.returncode, 0, attempt)
            self.assertIn("Read-only file system", done.stdout + done.stderr, attempt)
        self.assertIn("GPU-", self.read("node", "/gpu.env"))

    def test_both_lists_go_by_index_where_gpus_do(self):
        self.host_agent("--device-id-strategy=index")
        view = self.node_pod("node", 1)
        self.assertEqual(view.visible(), list("01234567"))
        self.assertEqual(view.env["NVIDIA_ALLOCATED_DEVICES"], str(view.reachable_minors()[0]))
        self.assertEqual(view.told["env"], self.driver.uuids()[view.reachable_minors()[0]])

    def test_the_scripts_of_the_seed_work_unchanged(self):
        """A PostStart hook that writes the file itself: the pod's own, on its own account."""
        self.host_agent("--nested-gpu-env=pod")
        hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo $NVIDIA_ALLOCATED_DEVICES > /gpu.env"]}}}
        for name in ("first", "second"):
            self.create(pod_of(name, [container(limits={GPU: 3}, lifecycle=hook)]))
        written = {name: self.read(name, "/gpu.env").strip() for name in ("first", "second")
                   if self.until_phase(name, "Running")}
        for name, line in written.items():
            self.assertEqual(line, self.view(name).env["NVIDIA_ALLOCATED_DEVICES"])
        first, second = (set(line.split(",")) for line in written.values())
        self.assertFalse(first & second)
        self.assertNotIn("/gpu.env", self.view("first").mounts)
        # News of a lost GPU come by the other way.
        lost = sorted(first)[0]
        self.driver.fault("lose", "--gpu", lost)
        until(lambda: [device["uuid"] for device in self.grant("first")["devices"] if not device["healthy"]] == [lost],
              "the news of the lost GPU", 30)
        self.assertTrue(all(device["healthy"] for device in self.grant("second")["devices"]))

    def test_health_reaches_a_running_pod_and_a_restarted_agent_goes_on_with_it(self):
        agent = self.host_agent()
        granted = self.node_pod("node", 2).env["NVIDIA_ALLOCATED_DEVICES"].split(",")
        self.driver.fault("lose", "--gpu", granted[0])
        until(lambda: not self.grant("node")["devices"][0]["healthy"], "the news of the lost GPU", 30)
        self.assertEqual(self.read("node", "/gpu.env"), granted[1] + "\n")
        generation = self.grant("node")["generation"]
        agent.kill()
        self.driver.fault("come-back", "--gpu", granted[0])
        agent.start()
        until(lambda: self.grant("node")["devices"][0]["healthy"], "the news of its return", 30)
        self.assertGreater(self.grant("node")["generation"], generation)
        self.assertEqual(self.read("node", "/gpu.env").strip().split(","), granted)

    @extended
    def test_files_outlive_restarts_of_the_container_and_a_reboot_and_go_with_the_pod(self):
        agent = self.host_agent()
        look = 'echo "told env $(cat /gpu.env)"'
        self.create(pod_of("node", [container(limits={GPU: 2}, look=look)], restartPolicy="Always"))
        granted = self.view("node").env["NVIDIA_ALLOCATED_DEVICES"]
        self.assertEqual(len(self.files()), 1)
        self.cluster.inside("kubectl", "exec", "node", "--", "kill", "-TERM", "1")
        until(lambda: self.get("node")["status"]["containerStatuses"][0]["restartCount"] == 1, "a restart", 60)
        self.assertEqual(self.view("node").told["env"], granted)

        self.cluster.down()
        agent.process.wait(30)
        # It is up before the kubelet: a pod whose plugin is not there when the kubelet first looks
        # is refused for good, and its container is not started again.
        def begin():
            self.driver.mount()
            agent.start()
        self.cluster.up(self.kubelet_changes, self.default_runtime, before_kubelet=begin)
        self.until_offered(8)
        until(lambda: self.get("node")["status"]["containerStatuses"][0]["restartCount"] == 2, "a restart", 60)
        self.assertEqual(self.view("node").told["env"], granted)
        self.assertEqual(len(self.files()), 1)

        self.delete_pod("node")
        until(lambda: not self.files(), "the end of the pod's files", 60)

    def test_exposure_is_none_of_the_others_or_all_of_them(self):
        self.host_agent("--nested-exposure=granted")
        view = self.node_pod("one", 2)
        self.assertEqual(view.visible(), view.env["NVIDIA_ALLOCATED_DEVICES"].split(","))
        self.assertEqual(len(view.reachable_minors()), 2)
        self.plugins[-1].stop()
        self.until_nothing_is_offered()
        self.host_agent("--nested-exposure=all", "--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all")
        view = self.node_pod("all", 2)
        self.assertEqual(view.reachable_minors(), list(range(8)))
        self.assertEqual(len(view.env["NVIDIA_ALLOCATED_DEVICES"].split(",")), 2)

    def test_nested_and_ordinary_resources_live_on_one_node(self):
        file = self.cluster.layout.state / "agent-config.yaml"
        file.write_text(json.dumps({"version": "v1", "tranche": {"policies": [
            {"resource": "example.com/node", "devices": [0, 1], "dialect": "nested-host"},
            {"resource": "example.com/node-memory", "devices": [2], "share": "memory", "dialect": "nested-host"}]}}))
        self.addCleanup(file.unlink, missing_ok=True)
        self.agent("--pass-device-specs", f"--config-file={file}")
        self.until_offered(5)
        self.until_offered(2, "example.com/node")
        self.until_offered(40, "example.com/node-memory")
        ordinary = self.run_pod("ordinary", 1)
        self.assertEqual(len(ordinary.visible()), 1)
        self.assertNotIn("/gpu.env", ordinary.mounts)
        self.assertEqual(len(self.run_pod("node", 1, "example.com/node").visible()), 8)
        self.run_pod("part", 8, "example.com/node-memory")
        told = json.loads(self.read("part", "/gpu-grants/example.com_node-memory/grant.json"))["devices"][0]
        self.assertEqual((told["share"], told["shares"], told["sharesInAll"]), ("memory", 8, 40))
        self.assertEqual(told["grantedBytes"], 8 << 30)

    def test_slices_are_handed_off_with_their_real_gpu(self):
        slices = [d for d in self.gpus("dgx-a100-mig-mixed").mig_devices() if d.profile == "2g.10gb"]
        self.agent("--profile=nested-host", "--mig-strategy=mixed")
        self.until_offered(len(slices), "nvidia.com/mig-2g.10gb")
        view = self.run_pod("node", 1, "nvidia.com/mig-2g.10gb")
        granted = view.env["NVIDIA_ALLOCATED_DEVICES"]
        self.assertIn(granted, [device.uuid for device in slices])
        self.assertIn(granted, view.visible())
        told = json.loads(self.read("node", "/gpu-grants/nvidia.com_mig-2g.10gb/grant.json"))["devices"][0]
        self.assertEqual(told["uuid"], granted)
        self.assertTrue(told["gpu"].startswith("GPU-"))
        self.assertEqual(self.read("node", "/gpu.env").strip(), granted)

    def test_a_kubelet_that_was_killed_changes_nothing(self):
        self.host_agent()
        granted = self.node_pod("node", 2).env["NVIDIA_ALLOCATED_DEVICES"]
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")
        self.until_offered(8)
        self.assertEqual(self.look_again("node").env["NVIDIA_ALLOCATED_DEVICES"], granted)
        self.assertEqual(len(self.files()), 1)
        self.assertEqual(self.read("node", "/gpu.env").strip(), granted)
        self.driver.fault("lose", "--gpu", granted.split(",")[0])
        until(lambda: not self.grant("node")["devices"][0]["healthy"], "the news of the lost GPU", 30)

    @extended
    def test_without_pod_resources_files_go_when_the_next_pod_comes(self):
        self.host_agent("--pod-resources-socket=/nowhere/kubelet.sock")
        self.node_pod("old", 1)
        old = self.files()
        self.delete_pod("old")
        self.node_pod("new", 1)
        until(lambda: not set(old) & set(self.files()), "the end of the old pod's files", 90)
        self.assertEqual(len(self.files()), 1)
        self.assertIn("GPU-", self.read("new", "/gpu.env"))
