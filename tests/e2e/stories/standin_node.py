# SPDX-License-Identifier: Apache-2.0
"""The node with the kubelet's stand-in, in a folder beside the cluster."""
import itertools
import queue
import signal
import subprocess
import threading

from .gpus import Gpus
from .recorded_node import PATIENCE, RecordedNode
from .story import BUILD, SIM

STANDIN = BUILD / "tests/standin/kubelet-standin"
seeds = itertools.count(1)


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
