# SPDX-License-Identifier: Apache-2.0
"""A node on which a story can be told, with the recorder between kubelet and agent.

There are two, one with the real kubelet and one with the stand-in. They have the
same steps, and every step returns when kubelet and agent have done it: a story
does one thing at a time.
"""
import dataclasses
import json
import os
import re
import sys

from cluster.cluster import until

from .gpus import DRIVER_ROOT
from .story import AGENT, BUILD, REPOSITORY

sys.path.append(str(REPOSITORY / "testbed/recorder"))
import compare_transcripts  # noqa: E402

RECORDER = BUILD / "testbed/recorder/kubelet-recorder"
PATIENCE = 60


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
            "--pod-resources-socket=",  # else lists depend on when the agent reads the allocations
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
