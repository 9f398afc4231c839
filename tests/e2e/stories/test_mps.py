# SPDX-License-Identifier: Apache-2.0
"""MPS daemons of the agent's, on stand-ins of the driver's programs that say what the real ones were recorded to say."""
import json
import pathlib
import shutil
import signal

from cluster.cluster import until

from .agent import PluginProcess
from .configurations import shared_by_mps
from .gpus import DRIVER_ROOT
from .story import AGENT, BUILD, GPU
from .test_policies import MEMORY, Policies, memory, replicas, SHARED
from .under_test import only_ours

LOOK = 'echo "told pipe $(ls -A /tmp/nvidia-mps | tr "\\n" " ")"'


class WithMpsPrograms(Policies):
    def gpus_with_mps(self, world="t4-quad"):
        self.gpus_ = self.gpus(world)
        for name in ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"):
            self.put(BUILD / "testbed/mps/mps-control-standin", f"usr/bin/{name}")
        library = next(pathlib.Path(BUILD / "testbed/mps").glob("libmps-libcuda-standin.so"))
        for place in self.gpus_.root.rglob("libcuda.so.1"):
            self.put(library, place.relative_to(self.gpus_.root))
        self.folder = self.cluster.layout.state / "mps"
        self.addCleanup(self.end_daemons)

    def put(self, source, place):
        target = self.gpus_.root / place
        target.unlink(missing_ok=True)
        shutil.copy(source, target)
        target.chmod(0o755)

    def pids(self):
        """Of the control daemons, by GPU or resource, as the node numbers them."""
        return {str(file.parent.parent.relative_to(self.folder)): int(file.read_text())
                for file in self.folder.rglob("pipe/nvidia-cuda-mps-control.pid")}

    def end_daemons(self):
        """They outlive their agent, for the sake of its pods."""
        for pid in self.pids().values():
            self.cluster.inside("kill", "-KILL", "--", f"-{pid}")  # with its server
        shutil.rmtree(self.folder, ignore_errors=True)


@only_ours("runs one daemon for all GPUs, from another program, with equal limits for all containers")
class Mps(WithMpsPrograms):
    def mps_agent(self, *rows, flags=()):
        self.gpus_with_mps()
        return self.policy_agent(*rows, flags=[f"--mps-dir={self.folder}", *flags])

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
        agent.until_logged(f"mps daemon failed; restarting it daemon={victim}")
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

    def test_programs_that_are_away_for_a_while_end_no_daemon(self):
        """As while the driver's package is replaced."""
        agent = self.mps_agent(memory(enforcement="mps"))
        self.until_offered(4 * 15, MEMORY)
        before = self.pids()
        program = self.gpus_.root / "usr/bin/nvidia-cuda-mps-control"
        away = program.rename(program.with_suffix(".away"))
        agent.signal(signal.SIGHUP)
        agent.until_logged(f"{MEMORY} has no usable share")
        away.rename(program)
        agent.signal(signal.SIGHUP)
        self.until_offered(4 * 15, MEMORY)
        until(lambda: self.ready(agent) == set(self.gpus_.uuids()), "all daemons", 30)
        self.assertEqual(self.pids(), before)

    def test_what_cannot_be_held_as_demanded_is_not_offered_and_says_why(self):
        agent = self.mps_agent(memory(enforcement="driver"), replicas(2, devices=[0], enforcement="none"))
        self.until_offered(2, SHARED)
        self.assertEqual((self.offered(MEMORY) or (0,))[0], 0)
        agent.until_logged(f"enforcement driver is demanded of {MEMORY}, and this node does not support it")


@only_ours("looks for its daemon below /mps, which is there in a container of its image only")
class MpsByNvidiasChart(WithMpsPrograms):
    """sharing.mps and --mps-root: the daemon is that of a program beside the agent, `mps-control-daemon`."""

    def setUp(self):
        super().setUp()
        self.gpus_with_mps()
        config = self.cluster.layout.state / "agent-config.yaml"
        config.write_text(json.dumps(shared_by_mps(3)))
        self.addCleanup(config.unlink, missing_ok=True)
        (self.folder / "bin").mkdir(parents=True)
        program = self.folder / "bin/mps-control-daemon"
        program.symlink_to(AGENT)
        self.cluster.checked(program, f"--root={self.folder}", "mount-shm")
        self.addCleanup(self.cluster.checked, "umount", self.folder / "shm")
        self.control = PluginProcess(
            self.cluster, program, [f"--root={self.folder}"], name="mps-control-daemon",
            environment={"CONFIG_FILE": config, "DRIVER_ROOT_CTR_PATH": DRIVER_ROOT, "HOST_ROOT": DRIVER_ROOT})
        self.addCleanup(self.control.stop)
        self.agent("--pass-device-specs", f"--config-file={config}", f"--mps-root={self.folder}")

    def test_gpus_are_offered_while_the_daemon_takes_clients_and_containers_are_sent_to_it(self):
        self.until_offered(0, capacity=12)
        self.control.start()
        self.until_offered(12)
        self.assertEqual(list(self.pids()), [GPU])
        self.cluster.checked("touch", self.folder / "shm/of-all")
        view = self.run_pod("one", look='echo told pipe $(ls $CUDA_MPS_PIPE_DIRECTORY); echo told shm $(ls /dev/shm)')
        self.assertEqual(view.env["CUDA_MPS_PIPE_DIRECTORY"], f"/mps/{GPU}/pipe")
        self.assertIn("control", view.told["pipe"].split())
        self.assertIn("ro", view.mounts[f"/mps/{GPU}/pipe"][1].split(","))
        self.assertEqual(view.told["shm"], "of-all")
        # The daemon holds every client to a third by itself.
        self.assertEqual([name for name in view.env if name.startswith("CUDA_MPS_")], ["CUDA_MPS_PIPE_DIRECTORY"])
        self.assertEqual(len(view.reachable_minors()), 1)

    def test_a_daemon_that_goes_takes_the_offer_with_it_until_it_is_back_and_no_pod(self):
        self.control.start()
        self.until_offered(12)
        before = self.run_pod("one")
        self.control.stop()
        self.until_offered(0, capacity=12)
        self.control.start()
        self.until_offered(12)
        self.assertEqual(self.look_again("one").reachable_minors(), before.reachable_minors())
