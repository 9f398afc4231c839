#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One story told twice through the recorder leaves transcripts without a difference.

  recorded_story_test.py KUBELET_STANDIN KUBELET_RECORDER AGENT TRANCHE_SIM

Also the example of how a script tells a story.
"""
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import compare_transcripts

PATIENCE = 60  # seconds; a test that needs them all has failed
GPU = "nvidia.com/gpu"
STANDIN, RECORDER, AGENT, SIM = (sys.argv.pop(1) for _ in range(4))


def wait_until(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.02)


class Standin:
    """kubelet-standin, command by command."""

    def __init__(self, folder, seed):
        self.process = subprocess.Popen(
            [STANDIN, "--dir", folder, "--seed", str(seed), "--timeout", str(PATIENCE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.answers = queue.Queue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if not line.startswith("event: "):
                self.answers.put(line.rstrip("\n"))

    def command(self, words):
        """The lines of the answer, without the ok."""
        self.process.stdin.write(words + "\n")
        lines = []
        while not lines or (lines[-1] != "ok" and not lines[-1].startswith("error: ")):
            lines.append(self.answers.get(timeout=PATIENCE))
        if lines[-1] != "ok":
            raise AssertionError(f"{words}: {lines[-1]}")
        return lines[:-1]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdout.close()


class Story:
    """Kubelet, recorder and agent in a folder, for a `with`."""

    def __init__(self, folder, root, seed):
        self.folder = pathlib.Path(folder)
        self.transcript = self.folder / "transcript"
        self.kubelet = Standin(self.folder / "k", seed)
        self.running = []
        wait_until((self.folder / "k/kubelet.sock").exists, "the kubelet")
        self.start(RECORDER, "--kubelet-folder", self.folder / "k",
                   "--plugin-folder", self.folder / "p", "--transcript", self.transcript)
        self.start(AGENT, f"--kubelet-socket={self.folder}/p/kubelet.sock",
                   f"--driver-root-ctr-path={root}", f"--host-root={root}",
                   f"--state-dir={self.folder}/state", f"--cdi-dir={self.folder}/cdi",
                   "--health-check-interval=100ms")

    def start(self, *command):
        with open(self.folder / "log", "ab") as log:
            self.running.append(subprocess.Popen([str(word) for word in command], stderr=log))

    def recorded(self, call, holds=lambda event: True):
        lines = self.transcript.read_text(encoding="utf-8").split("\n")[:-1]
        return [event for event in map(json.loads, lines) if event["call"] == call and holds(event)]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.kubelet.stop()
        ends = []
        for process in reversed(self.running):
            process.terminate()
            ends.append(process.wait(PATIENCE))
        if kind or any(ends):
            print(f"ended with {ends}", (self.folder / "log").read_text(encoding="utf-8"),
                  self.transcript.read_text(encoding="utf-8"), sep="\n", file=sys.stderr)
        if any(ends):
            raise AssertionError("recorder or agent ended badly")


def is_unhealthy(event):
    return any(device["health"] != "Healthy" for device in event["devices"])


class RecordedStory(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tranche.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.root = self.folder / "root"  # one for both: its path is in the answers
        self.sim("make-root", "--world", "hgx-h200", "--root", self.root, "--plain-files")

    def sim(self, *words):
        subprocess.run([SIM, *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    def tell(self, name, seed, pods=2):
        (self.folder / name).mkdir()
        with Story(self.folder / name, self.root, seed) as story:
            kubelet = story.kubelet
            kubelet.command(f"wait {GPU}=8")
            for pod in range(pods):
                kubelet.command(f"admit pod{pod} {GPU}=2")
            self.sim("fault", "--root", self.root, "lose", "--gpu", "7")
            wait_until(lambda: story.recorded("ListAndWatchReceived", is_unhealthy), "the loss")
            kubelet.command("remove pod0")
            kubelet.command("restart")
            kubelet.command(f"wait {GPU}=7")
            kubelet.command(f"admit late {GPU}=1")
        self.sim("fault", "--root", self.root, "come-back", "--gpu", "7")
        return story.transcript

    def normalised(self, transcript):
        # The agent's own folders differ between the two runs.
        return [line.replace(str(transcript.parent), "DIR")
                for line in compare_transcripts.normalised(compare_transcripts.load(transcript))]

    def test_is_the_same_when_told_again(self):
        first = self.normalised(self.tell("one", seed=1))
        self.assertEqual(first.count("KubeletCame"), 2)
        self.assertEqual(sum(line.startswith("Allocate ") for line in first), 3)
        self.assertEqual(self.normalised(self.tell("two", seed=2)), first)

    def test_is_another_with_another_pod(self):
        self.assertNotEqual(self.normalised(self.tell("one", seed=1)),
                            self.normalised(self.tell("two", seed=1, pods=3)))


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main()
