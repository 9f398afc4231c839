# SPDX-License-Identifier: Apache-2.0
"""What a test run could leave on the machine, to compare before with after."""
import os
import pathlib
import stat

from cluster import cgroups
from cluster.cluster import SYSCTLS

# Programs that only a cluster or a story starts.
OURS = ("etcd", "kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "containerd",
        "containerd-shim-runc-v2", "runc", "pause", "tranche-device-plugin", "nvidia-device-plugin",
        "kubelet-standin", "kubelet-recorder", "unshare", "nsenter")


def processes():
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        name = os.path.basename(command[0].decode(errors="replace"))
        if name in OURS or b"cluster/node.py" in b" ".join(command):
            found.add(f"process {folder.name} {name}")
    return found


def mounts():
    return {"mount " + line.split()[4] for line in
            pathlib.Path("/proc/self/mountinfo").read_text().splitlines()}


def control_groups():
    return {f"cgroup {path}" for hierarchy in cgroups.hierarchies()
            for path in hierarchy.iterdir() if path.is_dir()}


def sysctls():
    return {f"sysctl {name} = {pathlib.Path('/proc/sys', name).read_text().strip()}" for name in SYSCTLS}


def devices():
    return {f"device {path}" for path in pathlib.Path("/dev").iterdir()
            if stat.S_ISCHR(path.lstat().st_mode) or stat.S_ISBLK(path.lstat().st_mode)}


def interfaces():
    return {f"network interface {name}" for name in os.listdir("/sys/class/net")}


def files():
    """In folders of the machine that the cluster covers with its own, and in /tmp."""
    places = [("/tmp", "tranche*"), ("/run", "containerd*"), ("/run", "nvidia*"), ("/run", "cdi"),
              ("/run", "cni"), ("/var/lib", "kubelet"), ("/var/lib", "cni"), ("/var/log", "pods"),
              ("/var/log", "containers"), ("/etc", "cdi"), ("/etc", "cni"), ("/opt", "*")]
    return {f"file {path}" for folder, pattern in places for path in pathlib.Path(folder).glob(pattern)}


def snapshot():
    return (processes() | mounts() | control_groups() | sysctls() | devices() | interfaces() | files())


def difference(before, after):
    """What is new, and what is gone or was another value."""
    return ([f"left behind: {what}" for what in sorted(after - before)] +
            [f"gone: {what}" for what in sorted(before - after) if not what.startswith("process ")])
