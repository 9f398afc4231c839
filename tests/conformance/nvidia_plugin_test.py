#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own device plugin and CDI generator, unchanged, on the simulated driver.

  nvidia_plugin_test.py TRANCHE_SIM

The plugin runs in a mount namespace of its own, where the kubelet's folder is
ours and the PCI devices and driver files below /sys and /proc are the simulated
node's.
"""
import json
import os
import queue
import stat
import subprocess
import sys
import threading
import unittest

import common

PATIENCE = 60  # seconds; a test that needs them all has failed
TOOL = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""

# Mounts, then the program. The folders are handed over by environment.
NAMESPACE = """
set -e
mkdir -p /var/lib/kubelet/device-plugins 2>/dev/null || {
  mount -t tmpfs tmpfs /var/lib && mkdir -p /var/lib/kubelet/device-plugins; }
mount --bind "$KUBELET" /var/lib/kubelet/device-plugins
mount --bind "$ROOT/sys/bus/pci/devices" /sys/bus/pci/devices
mount --bind "$ROOT/proc/driver" /proc/driver
exec "$@"
"""


class Plugin:
    """NVIDIA's plugin on a node, with a small kubelet around it."""

    def __init__(self, node, *flags):
        folder = node.root.parent / "kubelet"
        folder.mkdir(exist_ok=True)
        programs = common.go_programs()
        env = {**os.environ, "KUBELET": str(folder), "ROOT": str(node.root),
               "LD_LIBRARY_PATH": str(node.library_folder)}
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--map-root-user", "bash", "-c", NAMESPACE, "bash",
             programs / "kubelet", "/var/lib/kubelet/device-plugins",
             programs / "nvidia-device-plugin", f"--driver-root-ctr-path={node.root}",
             f"--dev-root={node.root}", "--device-discovery-strategy=nvml",
             "--gdrcopy-enabled=false", "--gds-enabled=false", "--mofed-enabled=false", *flags],
            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.log = []
        self.devices = {}
        self.threads = [threading.Thread(target=self._read),
                        threading.Thread(target=lambda: self.log.extend(self.process.stderr))]
        for thread in self.threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def _next(self):
        try:
            line = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError("nothing came:\n" + "".join(self.log)) from None
        if "exit" in line:
            raise AssertionError(f"the plugin ended: {line}\n" + "".join(self.log))
        if "devices" in line:
            self.devices[line["resource"]] = {
                device["ID"]: (device["health"],
                               [node.get("ID", 0) for node in
                                device.get("topology", {}).get("nodes", [])])
                for device in line["devices"]}
        return line

    def until(self, holds):
        while not holds(self.devices):
            self._next()
        return self.devices

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        while True:
            line = self._next()
            if "answer" in line:
                return line["answer"]["container_responses"][0]
            if "error" in line:
                raise AssertionError(line["error"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()


def needs_device_nodes(node):
    """NVIDIA's programs look for real ones, which not everybody may make."""
    if not stat.S_ISCHR((node.root / "dev/nvidia0").stat().st_mode):
        if os.environ.get("CI"):
            raise AssertionError("no device nodes can be made here")
        raise unittest.SkipTest("no device nodes can be made here")


def uuids(node):
    """As the world has them, in their order."""
    state = node.run("state", "--root", node.root)
    return [line.split()[1] for line in state.splitlines() if line.startswith("    uuid: GPU-")]


class NvidiaPlugin(unittest.TestCase):
    def test_registers_every_gpu_with_its_numa_node(self):
        with common.Node(TOOL, "hgx-h200") as node, Plugin(node) as plugin:
            devices = plugin.until(lambda all: "nvidia.com/gpu" in all)["nvidia.com/gpu"]
            self.assertEqual(devices, {uuid: ("Healthy", [0 if i < 4 else 1])
                                       for i, uuid in enumerate(uuids(node))})

    def test_allocates_what_it_is_asked_for(self):
        with common.Node(TOOL, "hgx-h200") as node, \
                Plugin(node, "--pass-device-specs=true") as plugin:
            needs_device_nodes(node)
            plugin.until(lambda all: "nvidia.com/gpu" in all)
            first, second = uuids(node)[:2]
            answer = plugin.ask(resource="nvidia.com/gpu", allocate=[first, second])
            self.assertEqual(set(answer["envs"]["NVIDIA_VISIBLE_DEVICES"].split(",")),
                             {first, second})
            # Control nodes are only given where the plugin's own /dev has them.
            self.assertEqual({(device["container_path"], device["host_path"])
                              for device in answer["devices"]},
                             {(f"/dev/nvidia{i}", f"{node.root}/dev/nvidia{i}") for i in (0, 1)})

    def test_prefers_gpus_with_links_between_them(self):
        with common.Node(TOOL, "a100-pcie-bridged") as node, Plugin(node) as plugin:
            plugin.until(lambda all: "nvidia.com/gpu" in all)
            gpus = uuids(node)
            answer = plugin.ask(resource="nvidia.com/gpu", available=gpus, must=[gpus[2]], size=2)
            self.assertEqual(set(answer["deviceIDs"]), {gpus[2], gpus[3]})

    def test_marks_a_gpu_unhealthy_after_an_xid(self):
        with common.Node(TOOL, "hgx-h200") as node, Plugin(node) as plugin:
            gpus = uuids(node)
            plugin.until(lambda all: "nvidia.com/gpu" in all)

            def unhealthy(all):
                return {uuid for uuid, (health, _) in all["nvidia.com/gpu"].items()
                        if health != "Healthy"}

            # The plugin registers for events some time after its first list; what
            # is raised before is lost, so it is raised until it is seen.
            seen = threading.Event()

            def raise_xids():
                while not seen.wait(0.2):
                    node.fault("xid", "--gpu", 3, "--xid", 48)

            thread = threading.Thread(target=raise_xids)
            thread.start()
            try:
                plugin.until(unhealthy)
            finally:
                seen.set()
                thread.join()
            self.assertEqual(unhealthy(plugin.devices), {gpus[3]})

    def test_offers_mig_devices_of_one_profile_as_gpus(self):
        with common.Node(TOOL, "dgx-a100-mig-single") as node, \
                Plugin(node, "--mig-strategy=single") as plugin:
            devices = plugin.until(lambda all: "nvidia.com/gpu" in all)["nvidia.com/gpu"]
            self.assertEqual(len(devices), 56)
            self.assertTrue(all(uuid.startswith("MIG-") for uuid in devices))

    def test_offers_mig_devices_by_their_profiles(self):
        with common.Node(TOOL, "dgx-a100-mig-mixed") as node, \
                Plugin(node, "--mig-strategy=mixed", "--pass-device-specs=true") as plugin:
            needs_device_nodes(node)
            # The plugin's pattern for 1g.5gb also takes 1g.5gb+me, and that for 3g.20gb
            # also 1c.3g.20gb and 2c.3g.20gb.
            wanted = {"nvidia.com/gpu": 4, "nvidia.com/mig-3g.20gb": 5, "nvidia.com/mig-2g.10gb": 2,
                      "nvidia.com/mig-1g.5gb": 10}
            devices = plugin.until(lambda all: set(wanted) <= set(all))
            self.assertEqual({name: len(each) for name, each in devices.items()}, wanted)
            mig = sorted(devices["nvidia.com/mig-2g.10gb"])[0]
            answer = plugin.ask(resource="nvidia.com/mig-2g.10gb", allocate=[mig])
            self.assertEqual(answer["envs"]["NVIDIA_VISIBLE_DEVICES"], mig)
            caps = [device["container_path"] for device in answer["devices"]
                    if "nvidia-caps" in device["container_path"]]
            self.assertEqual(len(caps), 2)


class NvidiaCdi(unittest.TestCase):
    def test_finds_a_drivers_files_and_devices(self):
        programs = common.go_programs()
        with common.Node(TOOL, "dgx-a100-mig-mixed") as node:
            needs_device_nodes(node)
            done = subprocess.run(
                ["unshare", "--mount", "--map-root-user", "bash", "-c", NAMESPACE, "bash",
                 programs / "nvidia-ctk", "cdi", "generate", "--format=json", "--mode=nvml",
                 f"--driver-root={node.root}", f"--dev-root={node.root}",
                 f"--library-search-path={node.library_folder}", "--device-name-strategy=index"],
                env={**os.environ, "KUBELET": str(node.root.parent), "ROOT": str(node.root),
                     "LD_LIBRARY_PATH": str(node.library_folder)},
                text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            spec = json.loads(done.stdout)
            names = {device["name"] for device in spec["devices"]}
            self.assertLessEqual({"0", "3", "4:0", "4:1", "5:3", "7:0", "7:3", "all"}, names)
            mounts = {mount["containerPath"] for mount in spec["containerEdits"]["mounts"]}
            for path in ("libcuda.so.570.148.08", "libnvidia-ml.so.570.148.08",
                         "libnvidia-ptxjitcompiler.so.570.148.08", "vdpau/libvdpau_nvidia.so.570.148.08"):
                self.assertIn("/usr/lib/x86_64-linux-gnu/" + path, mounts)
            for path in ("/usr/bin/nvidia-smi", "/lib/firmware/nvidia/570.148.08/gsp_ga10x.bin"):
                self.assertIn(path, mounts)


def check_prerequisites():
    common.go_programs()
    tried = subprocess.run(["unshare", "--mount", "--map-root-user", "true"],
                           capture_output=True, text=True)
    if tried.returncode != 0:
        common.skip(f"no mount namespace can be made here: {tried.stderr}")


if __name__ == "__main__":
    check_prerequisites()
    unittest.main(verbosity=2)
