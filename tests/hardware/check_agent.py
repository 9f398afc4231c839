#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the agent on a machine with a real GPU and its real driver.

Needs the agent, kubelet-standin and nvidia-smi; touches no real kubelet, and
neither clocks, power, compute mode nor MIG. Prints what it checked, one line
each, and what it measured; fails at the first thing that does not hold.
Usage: check_agent.py AGENT KUBELET_STANDIN [folder for what it captures]
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 60
QUIET_SECONDS = 60


def check(holds, what, detail=""):
    print(("ok    " if holds else "FAIL  ") + what + (f": {detail}" if detail else ""), flush=True)
    if not holds:
        sys.exit(1)


def until(condition, what):
    """Waits for a condition; conditions here are files, processes and answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    check(False, what, "not within a minute")


class Agent:
    def __init__(self, program, folder, *flags):
        self.program, self.folder = program, folder
        self.flags = [f"--kubelet-socket={folder}/dp/kubelet.sock", f"--state-dir={folder}/state",
                      f"--cdi-dir={folder}/cdi", "--driver-root-ctr-path=/nowhere", *flags]
        self.log = open(f"{folder}/agent.log", "ab")
        self.process = subprocess.Popen([program, *self.flags], stderr=self.log)

    def command(self, *words):
        return subprocess.run([self.program, *words, *self.flags], capture_output=True, text=True)

    def devices(self):
        return json.loads(self.command("devices", "-o", "json").stdout or "{}")

    def open_nodes(self):
        """Device nodes of the driver that the process holds open."""
        found = set()
        for fd in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                target = os.readlink(fd)
            except FileNotFoundError:
                continue
            if target.startswith("/dev/nvidia"):
                found.add(target)
        return found

    def usage(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = int(fields[11]) + int(fields[12])
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        rss = int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
        return ticks / os.sysconf("SC_CLK_TCK"), rss

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def smi(*fields):
    text = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(fields)}",
                           "--format=csv,noheader,nounits"],
                          check=True, capture_output=True, text=True).stdout
    return [[cell.strip() for cell in line.split(",")] for line in text.strip().splitlines()]


def bus_id(text):
    """00000000:04:00.0 and 0000:04:00.0 are the same place."""
    domain, rest = text.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def check_inventory(status):
    rows = smi("index", "uuid", "name", "memory.total", "pci.bus_id", "driver_version",
               "compute_cap", "mig.mode.current")
    check(status["driver"]["version"] == rows[0][5], "driver version as nvidia-smi says", rows[0][5])
    check(len(status["gpus"]) == len(rows), "as many GPUs as nvidia-smi lists", str(len(rows)))
    full = subprocess.run(["nvidia-smi", "-q"], check=True, capture_output=True, text=True).stdout
    for gpu, row in zip(status["gpus"], rows):
        check(str(gpu["index"]) == row[0] and gpu["uuid"] == row[1], "index and uuid", row[0])
        check(gpu["model"] == row[2], "model", row[2])
        check(gpu["memoryBytes"] >> 20 == int(row[3]), "memory in MiB", row[3])
        check(bus_id(row[4]) == gpu["pci"], "PCI address", gpu["pci"])
        check(gpu["computeCapability"] == row[6], "compute capability", row[6])
        check(gpu["migEnabled"] == (row[7] == "Enabled"), "MIG mode", row[7])
        minor = re.search(r"Minor Number\s+: (\d+)", full).group(1)
        check(str(gpu["minor"]) == minor or len(rows) > 1, "minor number", minor)
        check(gpu["health"]["healthy"], "healthy", "; ".join(gpu["health"]["reasons"]))
    return rows


def main():
    agent_program, standin = sys.argv[1], sys.argv[2]
    out = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    folder = tempfile.mkdtemp(prefix="tranche-hw.")
    os.mkdir(f"{folder}/dp")
    kubelet = subprocess.Popen([standin, "--dir", f"{folder}/dp"], stdin=subprocess.PIPE,
                               stdout=open(f"{folder}/kubelet.log", "wb"))
    agent = None
    try:
        until(lambda: os.path.exists(f"{folder}/dp/kubelet.sock"), "the stand-in listens")
        began = time.monotonic()
        agent = Agent(agent_program, folder, "--pass-device-specs",
                      "--device-list-strategy=envvar,cdi-cri")
        until(lambda: [r for r in agent.devices().get("resources", [])
                       if r.get("kubelet", {}).get("registered")], "registered")
        print(f"      registered within {time.monotonic() - began:.2f} s of the start")
        rows = check_inventory(agent.devices())

        kubelet.stdin.write(b"admit pod nvidia.com/gpu=1\n")
        kubelet.stdin.flush()
        log = pathlib.Path(f"{folder}/kubelet.log")
        until(lambda: rows[0][1] in log.read_text(), "a container is granted a GPU")
        print("      " + "\n      ".join(log.read_text().splitlines()[-14:]))
        spec = json.loads(pathlib.Path(
            f"{folder}/cdi/k8s.device-plugin.nvidia.com-gpu.json").read_text())
        check(rows[0][1] in [d["name"] for d in spec["devices"]], "the CDI specification has it")
        check(any("libcuda.so" in m["containerPath"] for m in spec["containerEdits"]["mounts"]),
              "the CDI specification mounts the driver", f"{len(spec['containerEdits']['mounts'])} files")

        check("/dev/nvidia0" in agent.open_nodes(), "the driver is open", str(agent.open_nodes()))
        agent.command("release", rows[0][1])
        until(lambda: not agent.open_nodes(), "letting go of a GPU closes every node")
        until(lambda: not agent.devices()["gpus"][0]["health"]["healthy"], "unhealthy meanwhile")
        agent.command("resume")
        until(lambda: agent.devices()["gpus"][0]["health"]["healthy"], "healthy when taken up again")
        agent.command("release")
        until(lambda: not agent.open_nodes(), "letting go of the driver closes every node")
        print("ok    letting go closes every device node")
        agent.command("resume")
        until(lambda: agent.devices()["gpus"][0]["health"]["healthy"], "healthy when taken up again")

        time.sleep(5)
        cpu, _ = agent.usage()
        time.sleep(QUIET_SECONDS)
        later, rss = agent.usage()
        print(f"      at rest: {(later - cpu) * 100 / QUIET_SECONDS:.3f} % of one core over "
              f"{QUIET_SECONDS} s, {rss} KiB resident")
        if out:
            world = agent.command("capture", "--anonymous")
            check(world.returncode == 0, "captured", world.stderr)
            (out / "captured.yaml").write_text(world.stdout)
            shutil.copy(f"{folder}/cdi/k8s.device-plugin.nvidia.com-gpu.json", out / "cdi-gpu.json")
        check(agent.stop() == 0, "stops cleanly")
        agent = None
        print("All of it holds.")
    finally:
        print(open(f"{folder}/agent.log").read())
        if agent:
            agent.process.kill()
        kubelet.kill()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
