# SPDX-License-Identifier: Apache-2.0
"""MPS daemons of the agent's, on stand-ins of the driver's programs that say what the real ones were recorded to say."""
import json
import pathlib
import shutil

from cluster.cluster import until

from .story import BUILD
from .test_policies import MEMORY, Policies, memory, replicas, SHARED
from .under_test import only_ours

LOOK = 'echo "told pipe $(ls -A /tmp/nvidia-mps | tr "\\n" " ")"'


@only_ours("runs one daemon for all GPUs, from another program, with equal limits for all containers")
class Mps(Policies):
    def mps_agent(self, *rows, world="t4-quad", flags=()):
        self.gpus_ = self.gpus(world)
        for name in ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"):
            self.put(BUILD / "tests/mps/mps-control-standin", f"usr/bin/{name}")
        library = next(pathlib.Path(BUILD / "tests/mps").glob("libmps-libcuda-standin.so"))
        for place in self.gpus_.root.rglob("libcuda.so.1"):
            self.put(library, place.relative_to(self.gpus_.root))
        self.folder = self.cluster.layout.state / "mps"
        self.addCleanup(self.end_daemons)
        return self.policy_agent(*rows, flags=[f"--mps-dir={self.folder}", *flags])

    def put(self, source, place):
        target = self.gpus_.root / place
        target.unlink(missing_ok=True)
        shutil.copy(source, target)
        target.chmod(0o755)

    def pids(self):
        """Of the control daemons, by GPU, as the node numbers them."""
        return {file.parts[-3]: int(file.read_text()) for file in self.folder.glob("*/pipe/nvidia-cuda-mps-control.pid")}

    def end_daemons(self):
        """They outlive their agent, for the sake of its pods."""
        for pid in self.pids().values():
            self.cluster.inside("kill", "-KILL", "--", f"-{pid}")  # with its server
        shutil.rmtree(self.folder, ignore_errors=True)

    def ready(self, agent):
        return {daemon["name"] for daemon in agent.devices()["mpsDaemons"] if daemon["state"] == "ready"}

    def adopted(self, agent):
        """Those that are ready and older than the agent; it may not listen yet."""
        done = self.cluster.inside(agent.program, "devices", "-o", "json", *agent.node_flags)
        daemons = json.loads(done.stdout)["mpsDaemons"] if done.returncode == 0 else []
        return {daemon["name"] for daemon in daemons if daemon["adopted"] and daemon["state"] == "ready"}

    def test_a_container_is_sent_to_its_gpus_daemon_with_its_limits_and_sees_nothing_else_of_it(self):
        agent = self.mps_agent(memory(enforcement="mps"))
        self.until_offered(4 * 15, MEMORY)
        self.assertEqual(self.ready(agent), set(self.gpus_.uuids()))
        view = self.run_pod("five", 5, MEMORY, look=LOOK)
        self.assertEqual(view.env["CUDA_MPS_PIPE_DIRECTORY"], "/tmp/nvidia-mps")
        self.assertEqual(view.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=5120M")
        self.assertEqual(view.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "33.3")
        self.assertEqual(view.env["TRANCHE_MEMORY_ENFORCEMENT"], "mps")
        self.assertEqual(view.told["pipe"].split(), ["control"])
        self.assertIn("ro", view.mounts["/tmp/nvidia-mps"][1].split(","))
        self.assertNotIn(str(self.folder), view.mounts.get("/dev/shm", ("",))[0])

    def test_replicas_of_one_container_come_from_one_gpu(self):
        self.mps_agent(replicas(4, enforcement="mps"))
        self.until_offered(16, SHARED)
        view = self.run_pod("two", 2, SHARED)
        self.assertEqual(len(view.reachable_minors()), 1)
        self.assertEqual(view.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "50")
        self.create(self.pod("five", 5, SHARED))
        self.assertIn("must come from one GPU", self.refusal("five"))

    def test_a_daemon_that_dies_takes_its_gpu_and_no_other_and_comes_back(self):
        agent = self.mps_agent(memory(enforcement="mps"))
        self.until_offered(4 * 15, MEMORY)
        self.assertEqual(len(self.pids()), 4)
        victim, pid = sorted(self.pids().items())[0]
        others = {gpu: other for gpu, other in self.pids().items() if gpu != victim}
        self.cluster.checked("kill", "-KILL", str(pid))
        agent.until_logged(f"mps daemon is in trouble and starts again daemon={victim}")
        until(lambda: self.ready(agent) == set(self.gpus_.uuids()), "all daemons", 30)
        self.until_offered(4 * 15, MEMORY)
        self.assertEqual({gpu: other for gpu, other in self.pids().items() if gpu != victim}, others)

    def test_daemons_outlive_an_agent_and_are_adopted(self):
        agent = self.mps_agent(memory(enforcement="mps"))
        self.until_offered(4 * 15, MEMORY)
        before = self.pids()
        agent.kill()
        agent.start()
        until(lambda: self.adopted(agent) == set(self.gpus_.uuids()), "the daemons' adoption", 30)
        self.assertEqual(self.pids(), before)

    def test_what_cannot_be_held_as_demanded_is_not_offered_and_says_why(self):
        agent = self.mps_agent(memory(enforcement="driver"), replicas(2, devices=[0], enforcement="none"))
        self.until_offered(2, SHARED)
        self.assertEqual((self.offered(MEMORY) or (0,))[0], 0)
        agent.until_logged(f"enforcement driver is demanded of {MEMORY}, and this node cannot hold it")
