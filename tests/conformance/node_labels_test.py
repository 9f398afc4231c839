#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Node labels of the agent beside those of NVIDIA's own gpu-feature-discovery (GFD), label by
label, on simulated nodes.

  node_labels_test.py TRANCHE_SIM TRANCHE_DEVICE_PLUGIN

Each label that differs is in node_labels_cases.py with the reason, and docs/node-labels.md has
the same table. A difference that is not there fails, and so does one that is there and does not
occur.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import common
from node_labels_cases import CASES, DIFFERENCES, LOST_GPU, MIXED_MODELS

PATIENCE = 60  # seconds; a test that needs them all has failed
MACHINE = "DGX (simulated) Node\n"
# It takes one of four models at random, so that ours is missed once in thirty million tests.
MOST_RUNS = 60

TOOL = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
AGENT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
DOCUMENT = common.HERE.parent.parent / "docs" / "node-labels.md"

# GFD reads the kernel's list of PCI devices where it always is.
NAMESPACE = """
set -e
mount --bind "$ROOT/sys/bus/pci/devices" /sys/bus/pci/devices
exec "$@"
"""


class LabelledNode(common.Node):
    """A simulated node, and the labels that each program gives it."""

    def __init__(self, world, config):
        self.worlds = tempfile.TemporaryDirectory(prefix="tranche.")
        if "\n" in world:
            path = pathlib.Path(self.worlds.name) / "world.yaml"
            path.write_text(world)
            world = str(path)
        super().__init__(TOOL, world)
        self.place = self.root.parent
        (self.root / "machine").write_text(MACHINE)
        self.flags = []
        if config:
            (self.place / "config.yaml").write_text(config)
            self.flags = [f"--config-file={self.place / 'config.yaml'}"]

    def __exit__(self, *_):
        self.worlds.cleanup()
        super().__exit__(*_)

    def run_gfd(self, *flags):
        """Its labels, or what it says when it fails."""
        output = self.place / "gfd"
        output.unlink(missing_ok=True)
        done = subprocess.run(
            ["unshare", "--mount", "--map-root-user", "bash", "-c", NAMESPACE, "bash",
             common.go_programs() / "gpu-feature-discovery", "--oneshot",
             "--use-node-feature-api=false", "--no-timestamp", f"--output-file={output}",
             f"--machine-type-file={self.root / 'machine'}", "--device-discovery-strategy=nvml",
             *flags, *self.flags],
            env={**os.environ, "ROOT": str(self.root),
                 "LD_LIBRARY_PATH": str(self.library_folder)},
            text=True, capture_output=True)
        if done.returncode != 0:
            return done.stderr
        return read_labels(output)

    def run_agent(self, *flags):
        """Its labels once it has written them."""
        with Agent(self, *flags) as agent:
            return agent.labels()


class Agent:
    """The agent on a node, for a `with`. At its end it removes the features file."""

    def __init__(self, node, *flags):
        self.output = node.place / "features" / "gfd"
        self.log = node.place / "agent.log"
        for folder in (self.output.parent, node.place / "state"):
            folder.mkdir(exist_ok=True)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [AGENT, "--node-labels=file", "--no-timestamp", f"--output-file={self.output}",
                 "--machine-type-file=/machine", f"--host-root={node.root}",
                 f"--driver-root-ctr-path={node.root}", f"--state-dir={node.place / 'state'}",
                 f"--kubelet-socket={node.place / 'kubelet.sock'}", "--pod-resources-socket=",
                 *flags, *node.flags], stdout=log, stderr=log)

    def labels(self):
        self.until(self.output.exists, "it wrote no labels")
        return read_labels(self.output)

    def until(self, holds, problem):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{problem}:\n{self.log.read_text()}")
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        if kind is None and self.output.exists():
            raise AssertionError("the agent left its features file behind")


def read_labels(path):
    lines = path.read_text().splitlines()
    return {key.removeprefix("nvidia.com/"): value
            for key, value in (line.split("=", 1) for line in lines)}


def differences(ours, theirs):
    return {key: (ours.get(key), theirs.get(key)) for key in sorted({*ours, *theirs})
            if ours.get(key) != theirs.get(key)}


class Labels(unittest.TestCase):
    maxDiff = None

    def test_are_those_of_nvidias_program_except_where_listed(self):
        for case in CASES:
            with self.subTest(case.name), LabelledNode(case.world, case.config) as node:
                theirs = node.run_gfd(*case.flags)
                self.assertIsInstance(theirs, dict, theirs)
                ours = node.run_agent(*case.flags, *case.our_flags)
                self.assertGreater(len(ours), 20)
                self.assertEqual(differences(ours, theirs), case.expected())

    def test_on_a_node_with_several_models_are_always_the_same(self):
        """NVIDIA's program takes the labels of one model after the other, in random order."""
        case = MIXED_MODELS
        with LabelledNode(case.world, case.config) as node:
            ours = node.run_agent(*case.flags)
            self.assertEqual(node.run_agent(*case.flags), ours)
            seen = {}
            for _ in range(MOST_RUNS):
                theirs = node.run_gfd(*case.flags)
                seen[theirs["gpu.product"]] = theirs
                if len(seen) > 1 and ours["gpu.product"] in seen:
                    break
            self.assertGreater(len(seen), 1, "NVIDIA's labels do not change any more")
            for theirs in seen.values():
                self.assertLessEqual(set(differences(ours, theirs)), set(case.varying()))
            # Ours are one of those that it may choose.
            self.assertEqual(differences(ours, seen[ours["gpu.product"]]), {})

    def test_stay_when_a_gpu_is_lost(self):
        """NVIDIA's program fails then."""
        case = LOST_GPU
        with LabelledNode(case.world, case.config) as node:
            with Agent(node, "--health-check-interval=1s") as agent:
                before = agent.labels()
                node.fault("lose", "--gpu", "1")
                agent.until(lambda: "unhealthy" in agent.log.read_text(), "it saw no lost GPU")
                self.assertEqual(agent.labels(), before)
            self.assertEqual(agent.log.read_text().count("features file written"), 1)
            self.assertIn("fallen off the bus", node.run_gfd())
            self.assertEqual(node.run_agent(), before, "an agent that starts then")


class Table(unittest.TestCase):
    def test_is_the_one_of_the_document(self):
        rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
        wanted = [difference.row() for difference in DIFFERENCES.values()]
        self.assertEqual([row for row in rows if row in wanted], wanted)
        start = rows.index("| Where | Label | Tranche | GFD | Why |")
        self.assertEqual(rows[start + 2:start + 2 + len(wanted)], wanted)
        self.assertEqual(len(rows), start + 2 + len(wanted), "the document has other rows")

    def test_has_no_difference_that_no_case_shows(self):
        shown = {name for case in (*CASES, MIXED_MODELS, LOST_GPU) for name in case.differs}
        self.assertEqual(shown, set(DIFFERENCES))


if __name__ == "__main__":
    unittest.main()
