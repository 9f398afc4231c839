# SPDX-License-Identifier: Apache-2.0
"""Two nodes on which a story can be told, with the recorder between kubelet and agent.

One has the real kubelet, one the stand-in. They have the same steps, and every
step returns when kubelet and agent have done it: a story does one thing at a time.
"""
import dataclasses
import datetime
import itertools
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

from cluster.cluster import until
from cluster.layout import NODE_NAME

from .agent import PluginProcess
from .gpus import DRIVER_ROOT, Gpus
from .pods import container, pod_of
from .story import AGENT, BUILD, NODE, REPOSITORY, SIM

sys.path.append(str(REPOSITORY / "tests/recorder"))
import compare_transcripts  # noqa: E402

STANDIN = BUILD / "tests/standin/kubelet-standin"
RECORDER = BUILD / "tests/recorder/kubelet-recorder"
EVENTS = "/api/v1/namespaces/default/events"
PATIENCE = 60
seeds = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Part:
    """A container of a pod."""
    name: str
    limits: dict
    kind: str = ""  # or "init" or "sidecar"


def parts_of(containers):
    """A pod of one container is told by its limits alone."""
    return [Part("main", c) if isinstance(c, dict) else c for c in containers]


class RecordedNode:
    """What both have. `folder` is for this node alone and has a short name: sockets lie in it."""
    name = ""

    def __init__(self, folder, logs, gpus, driver_root):
        self.folder = folder
        self.logs = logs
        self.gpus = gpus
        self.driver_root = driver_root  # as the agent sees it
        self.transcript = logs / f"{self.name}.transcript"
        self.recorder = self.agent = None
        self.checkpoint_of_last_kubelet = None
        self.asked = 0      # allocations that were asked for and granted
        self.refusals = []  # of the kubelet, in its words
        (folder / "config").mkdir()

    # What a node is.

    def process(self, name, program, *flags):
        """Started; with kill() and stop()."""
        raise NotImplementedError

    def plugin_folder_of_kubelet(self):
        """As the recorder sees it."""
        raise NotImplementedError

    def kubelet_folder(self):
        """The same, as seen from here."""
        raise NotImplementedError

    def admit_pod(self, name, parts):
        """None, or why the kubelet refused the pod."""
        raise NotImplementedError

    def rejection(self, name):
        """Why a restarted kubelet rejected a pod, once it has."""
        raise NotImplementedError

    def remove_pod(self, name):
        raise NotImplementedError

    def restart_container(self, name):
        """The container "main" of a pod ends, and is started again."""
        raise NotImplementedError

    def kill_and_start_kubelet(self):
        raise NotImplementedError

    def offered(self, resource):
        """(allocatable, capacity), or None."""
        raise NotImplementedError

    # The steps of stories.

    def start(self, *flags, config=None):
        """The recorder and the agent."""
        self.recorder = self.process("recorder", RECORDER, f"--kubelet-folder={self.plugin_folder_of_kubelet()}",
                                     f"--plugin-folder={self.folder}/p", f"--transcript={self.transcript}")
        until((self.folder / "p/kubelet.sock").exists, f"{self.name}: the recorder", PATIENCE)
        if config:
            file = self.folder / "config/config.yaml"
            file.write_text(json.dumps(config))
            flags = (*flags, f"--config-file={file}")
        self.agent = self.process(
            "agent", AGENT, f"--kubelet-socket={self.folder}/p/kubelet.sock", f"--driver-root={self.driver_root}",
            f"--driver-root-ctr-path={self.driver_root}", f"--host-root={self.driver_root}",
            f"--state-dir={self.folder}/state", f"--cdi-dir={self.folder}/cdi", "--health-check-interval=200ms",
            "--pass-device-specs", *flags)

    def until_offered(self, healthy, capacity=None, resource="nvidia.com/gpu"):
        wanted = (healthy, healthy if capacity is None else capacity)
        until(lambda: self.offered(resource) == wanted, f"{self.name}: {wanted} of {resource}", PATIENCE)
        if healthy:
            until(lambda: self.kubelet_knows(resource), f"{self.name}: the kubelet's knowing its {resource}", PATIENCE)

    def until_all_offered(self, counts):
        for resource, count in counts.items():
            self.until_offered(count, resource=resource)

    def admit(self, name, *containers):
        parts = parts_of(containers)
        refusal = self.admit_pod(name, parts)
        if refusal:
            raise AssertionError(f"{self.name}: pod {name} was refused: {refusal}")
        self.asked += sum(len(part.limits) for part in parts)

    def be_refused(self, name, *containers, served=0):
        """`served`: allocations that had been made for it by then."""
        refusal = self.admit_pod(name, parts_of(containers))
        if not refusal:
            raise AssertionError(f"{self.name}: pod {name} was admitted")
        self.asked += served
        self.refusals.append(f"{name} was refused: {refusal}")

    def remove(self, name):
        self.remove_pod(name)

    def restart_kubelet(self):
        """Kills it; returns when the agent, if it runs, has registered with the next one."""
        ended = {event["socket"] for event in self.recorded("ListAndWatchEnded")}
        before = {event["resource"]: len(self.lists(event["resource"]))
                  for event in self.recorded("ListAndWatchOpened") if event["socket"] not in ended}
        self.checkpoint_of_last_kubelet = self.checkpoint()[1]
        self.kill_and_start_kubelet()
        until(lambda: all(len(self.lists(resource)) > count for resource, count in before.items()),
              f"{self.name}: the next registration of {', '.join(before)}", PATIENCE)

    def until_rejected(self, name):
        """A kubelet that was restarted ends a pod that it finds."""
        self.refusals.append(f"{name} was ended: {self.rejection(name)}")

    def kill_agent(self):
        self.agent.kill()
        self.until_streams_have_ended()

    def stop_agent(self):
        self.agent.stop()
        self.until_streams_have_ended()

    def start_agent_again(self):
        self.agent.start()

    def fault(self, *words):
        self.gpus.fault(*words)

    def end(self):
        """Agent, then recorder, so that the transcript has the ends of the agent's streams."""
        self.stop_agent()
        self.stop()
        for process in (self.agent, self.recorder):
            if process.process.returncode != 0:
                raise AssertionError(f"{self.name}: {process.words} ended with {process.process.returncode}")

    def stop(self):
        """Whatever still runs. May be called twice."""
        for process in (self.agent, self.recorder):
            if process:
                process.stop()

    # What was recorded.

    def recorded(self, *calls):
        lines = self.transcript.read_text(encoding="utf-8").split("\n")[:-1]
        return [event for event in map(json.loads, lines) if event["call"] in calls]

    def lists(self, resource=None):
        return [event for event in self.recorded("ListAndWatchReceived")
                if event.get("passed_on", True) and resource in (None, event["resource"])]

    def kubelet_knows(self, resource):
        """It writes its checkpoint after each list, and then only does a pod see it."""
        lists = self.lists(resource)  # the last may not be written down yet
        text, version = self.checkpoint()
        if not lists or not text or version == self.checkpoint_of_last_kubelet:
            return False
        healthy = sorted(device["id"] for device in lists[-1]["devices"] if device["health"] == "Healthy")
        devices = json.loads(text)["Data"]["RegisteredDevices"] or {}
        return sorted(devices.get(resource) or []) == healthy

    def checkpoint(self):
        """Its text, and what changes when it is written again."""
        try:
            with open(self.kubelet_folder() / "kubelet_internal_checkpoint", encoding="utf-8") as file:
                status = os.fstat(file.fileno())
                return file.read(), (status.st_ino, status.st_mtime_ns)
        except FileNotFoundError:
            return "", None

    def until_streams_have_ended(self):
        until(lambda: len(self.recorded("ListAndWatchOpened")) == len(self.recorded("ListAndWatchEnded")),
              f"{self.name}: the end of the agent's streams", PATIENCE)

    def normalised(self):
        """The lines that must be the same on both nodes."""
        replacements = [(re.compile(re.escape(str(self.driver_root))), DRIVER_ROOT),
                        (re.compile(re.escape(str(self.folder))), "<folder>")]
        return compare_transcripts.normalised(compare_transcripts.load(self.transcript), replacements) + self.refusals


def refusal_in(status):
    return f"{status['reason']}: {status['message'].removeprefix('Pod was rejected: ')}"


class RealNode(RecordedNode):
    """On the cluster of a story. Pods name their node: the scheduler is no part of this."""
    name = "real"

    def __init__(self, folder, story, world):
        super().__init__(folder, story.cluster.layout.logs, story.gpus(world), DRIVER_ROOT)
        self.story = story
        self.cluster = story.cluster

    def process(self, name, program, *flags):
        return PluginProcess(self.cluster, program, flags, name=f"real-{name}").start()

    def plugin_folder_of_kubelet(self):
        return "/var/lib/kubelet/device-plugins"

    def kubelet_folder(self):
        return self.cluster.layout.kubelet / "device-plugins"

    def admit_pod(self, name, parts):
        def containers(*kinds):
            changes = {"sidecar": {"restartPolicy": "Always"}}
            return [container(part.name, part.limits, stays=part.kind != "init", **changes.get(part.kind, {}))
                    for part in parts if part.kind in kinds]
        self.story.create(pod_of(name, containers(""), initContainers=containers("init", "sidecar"),
                                 nodeName=NODE_NAME, restartPolicy="Always"))
        status = self.story.until_phase(name, "Running", "Failed")["status"]
        return refusal_in(status) if status["phase"] == "Failed" else None

    def rejection(self, name):
        """From the event: the pod's status is written over when its containers have ended."""
        def told():
            events = self.cluster.api.get(EVENTS, fieldSelector=f"involvedObject.uid={uid},type=Warning")["items"]
            return next((e for e in events if e["reason"] == "UnexpectedAdmissionError"), None)
        uid = self.story.get(name)["metadata"]["uid"]
        event = until(told, f"the rejection of pod {name}", PATIENCE)
        self.story.until_phase(name, "Failed", "Succeeded")
        return f"{event['reason']}: {event['message']}"

    def remove_pod(self, name):
        self.story.delete_pod(name)

    def restart_container(self, name):
        def restarts():
            status = next(s for s in self.story.get(name)["status"]["containerStatuses"] if s["name"] == "main")
            return status["restartCount"] if "running" in status["state"] else -1

        def ended():
            # A kubelet that has just come may not listen yet; and the command
            # may be killed with the container, before it can say that it is done.
            done = self.cluster.inside("kubectl", "exec", name, "--container=main", "--", "kill", "1")
            return done.returncode in (0, 128 + signal.SIGKILL)
        before = restarts()
        until(ended, f"the end of the container of pod {name}", PATIENCE)
        until(lambda: restarts() > before, f"the restart of pod {name}", PATIENCE)

    def kill_and_start_kubelet(self):
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")

    def restart_kubelet(self):
        super().restart_kubelet()
        # The API has what the last kubelet offered until the new one reports,
        # and its first report may be from before the registration. It reports
        # every second, and says when: in whole seconds.
        now = time.time()
        until(lambda: self.reported_at() > now + 1, "the new kubelet's report", PATIENCE)

    def reported_at(self):
        conditions = self.cluster.api.get(NODE)["status"]["conditions"]
        ready = next(condition for condition in conditions if condition["type"] == "Ready")
        return datetime.datetime.fromisoformat(ready["lastHeartbeatTime"]).timestamp()

    def offered(self, resource):
        return self.story.offered(resource)


class StandinNode(RecordedNode):
    """Of plain processes in a folder."""
    name = "standin"

    def __init__(self, folder, story, world):
        gpus = UnmountedGpus(story.cluster, SIM, world)
        super().__init__(folder, story.cluster.layout.logs, gpus, gpus.root)
        self.rejected = {}  # by name of the pod
        self.kubelet = Standin(folder / "k", self.logs / "standin-kubelet.log")

    def start(self, *flags, config=None):
        self.kubelet.checked("node")  # it listens when it answers
        super().start(*flags, config=config)

    def process(self, name, program, *flags):
        return Process([program, *flags], self.logs / f"standin-{name}.log").start()

    def plugin_folder_of_kubelet(self):
        return self.folder / "k"

    def kubelet_folder(self):
        return self.folder / "k"

    def admit_pod(self, name, parts):
        def word(part):
            limits = ",".join(f"{resource}={count}" for resource, count in part.limits.items())
            return f"{part.kind}{':' if part.kind else ''}{part.name}:{limits}"
        lines = self.kubelet.command(f"admit {name} {' '.join(map(word, parts))}")
        return lines[-1].removeprefix("error: ") if lines[-1] != "ok" else None

    def restart_kubelet(self):
        super().restart_kubelet()
        for line in self.kubelet.checked("readmit"):
            _, name, why = line.split(" ", 2)
            self.rejected[name] = why

    def rejection(self, name):
        return self.rejected.get(name)

    def remove_pod(self, name):
        self.kubelet.checked(f"remove {name}")

    def restart_container(self, name):
        self.kubelet.checked(f"start {name}")

    def kill_and_start_kubelet(self):
        self.kubelet.checked("restart")

    def offered(self, resource):
        for line in self.kubelet.checked("node"):
            words = line.split()
            if words[1] == resource:
                figures = dict(word.split("=") for word in words[2:])
                return int(figures["allocatable"]), int(figures["capacity"])
        return None

    def stop(self):
        super().stop()
        self.kubelet.stop()


class UnmountedGpus(Gpus):
    def mount(self):
        """Nobody looks for them in the machine's own places."""


class Process:
    def __init__(self, words, log_path):
        self.words = [str(word) for word in words]
        self.log_path = log_path
        self.log_path.unlink(missing_ok=True)
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def end(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)


class Standin:
    """The program kubelet-standin, command by command."""

    def __init__(self, folder, log_path):
        self.log = open(log_path, "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [STANDIN, "--dir", folder, "--seed", str(next(seeds)), "--timeout", str(PATIENCE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, bufsize=1)
        self.answers = queue.Queue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("event: "):
                self.log.write(line)
            else:
                self.answers.put(line.rstrip("\n"))

    def command(self, words):
        """The lines of the answer; the last is ok, or an error."""
        self.process.stdin.write(words + "\n")
        lines = []
        while not lines or (lines[-1] != "ok" and not lines[-1].startswith("error: ")):
            lines.append(self.answers.get(timeout=PATIENCE))
        return lines

    def checked(self, words):
        lines = self.command(words)
        if lines[-1] != "ok":
            raise AssertionError(f"{words}: {lines[-1]}")
        return lines[:-1]

    def stop(self):
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdout.close()
        self.log.close()
