# SPDX-License-Identifier: Apache-2.0
"""The node with the kubelet's stand-in, in a folder beside the cluster."""
import itertools
import signal
import subprocess
import sys

from .gpus import Gpus
from .recorded_node import PATIENCE, RecordedNode
from .story import BUILD, REPOSITORY, SIM

sys.path.append(str(REPOSITORY / "testbed/kubelet"))
from standin_program import Standin  # noqa: E402

STANDIN = BUILD / "testbed/kubelet/kubelet-standin"
seeds = itertools.count(1)


class StandinNode(RecordedNode):
    """Of plain processes in a folder."""
    name = "standin"

    def __init__(self, folder, story, world):
        gpus = UnmountedGpus(story.cluster, SIM, world)
        super().__init__(folder, story.cluster.layout.logs, gpus, gpus.root)
        self.rejected = {}  # by name of the pod
        self.log = open(self.logs / "standin-kubelet.log", "w", encoding="utf-8")
        self.kubelet = Standin(STANDIN, folder / "k", next(seeds), self.log, PATIENCE)

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
        self.log.close()


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
