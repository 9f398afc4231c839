#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One story told twice through the recorder leaves transcripts without a difference.

  recorded_story_test.py KUBELET_STANDIN KUBELET_RECORDER AGENT TRANCHE_SIM

Also the example of how a script tells a story.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import compare_transcripts

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "kubelet"))
from standin_program import Standin  # noqa: E402

PATIENCE = 60  # seconds; a test that needs them all has failed
GPU = "nvidia.com/gpu"
STANDIN, RECORDER, AGENT, SIM = (sys.argv.pop(1) for _ in range(4))


class Story:
    """Kubelet, recorder and agent in a folder, for a `with`."""

    def __init__(self, folder, root, seed):
        self.folder = pathlib.Path(folder)
        self.transcript = self.folder / "transcript"
        self.log = open(self.folder / "log", "a", encoding="utf-8")
        self.kubelet = Standin(STANDIN, self.folder / "k", seed, self.log)
        self.running = []
        self.start(RECORDER, "--kubelet-folder", self.folder / "k",
                   "--plugin-folder", self.folder / "p", "--transcript", self.transcript)
        self.start(AGENT, f"--kubelet-socket={self.folder}/p/kubelet.sock",
                   f"--driver-root-ctr-path={root}", f"--host-root={root}",
                   f"--state-dir={self.folder}/state", f"--cdi-dir={self.folder}/cdi",
                   "--health-check-interval=100ms")

    def start(self, *command):
        self.running.append(subprocess.Popen([str(word) for word in command], stderr=self.log))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.kubelet.stop()
        ends = []
        for process in reversed(self.running):
            process.terminate()
            ends.append(process.wait(PATIENCE))
        self.log.close()
        if kind or any(ends):
            print(f"ended with {ends}", (self.folder / "log").read_text(encoding="utf-8"),
                  self.transcript.read_text(encoding="utf-8"), sep="\n", file=sys.stderr)
        if any(ends):
            raise AssertionError("recorder or agent ended badly")


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
            kubelet.checked(f"wait {GPU}=8")
            for pod in range(pods):
                kubelet.checked(f"admit pod{pod} {GPU}=2")
            self.sim("fault", "--root", self.root, "lose", "--gpu", "7")
            kubelet.checked(f"wait {GPU}=7")
            kubelet.checked("remove pod0")
            kubelet.checked("restart")
            kubelet.checked(f"wait {GPU}=7")
            kubelet.checked(f"admit late {GPU}=1")
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
