# SPDX-License-Identifier: Apache-2.0
"""What a test run could leave on the machine, to compare before with after.

Another run may go on at the same time; what belongs to its clusters is not ours.
"""
import os
import pathlib
import stat

from cluster import cgroups, sysctls

# What the states of this run's clusters are called, and with them all that is named for them.
PREFIX = f"tranche-e2e-{os.getpid()}-"
ANY_CLUSTER = "tranche-e2e"

# Programs that only a cluster or a story starts.
OURS = ("etcd", "kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "containerd",
        "containerd-shim-runc-v2", "runc", "pause", "tranche-device-plugin", "nvidia-device-plugin",
        "kubelet-standin", "kubelet-recorder", "unshare", "nsenter")


def command_lines():
    """{pid: words} of all processes."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found[folder.name] = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def pid_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def is_in_a_pod_of_others(pid):
    try:
        places = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
    return f"/{ANY_CLUSTER}" in places and f"/{PREFIX}" not in places


def is_node(words):
    return any(word.endswith("cluster/node.py") for word in words)


def processes():
    lines = command_lines()
    others = {pid for pid, words in lines.items() if is_node(words) and PREFIX not in " ".join(words)}
    their_namespaces = {pid_namespace(pid) for pid in others} - {pid_namespace("self")}
    found = set()
    for pid, words in lines.items():
        is_theirs = (pid_namespace(pid) in their_namespaces or others & set(words) or
                     is_in_a_pod_of_others(pid))
        started_theirs = is_node(words) and PREFIX not in " ".join(words)
        if not is_theirs and not started_theirs and (os.path.basename(words[0]) in OURS or is_node(words)):
            found.add(f"process {pid} {os.path.basename(words[0])}")
    return found


def named_for_others(path):
    return path.name.startswith(ANY_CLUSTER) and not path.name.startswith(PREFIX)


def mounts():
    return {"mount " + line.split()[4] for line in
            pathlib.Path("/proc/self/mountinfo").read_text().splitlines()}


def control_groups():
    return {f"cgroup {path}" for hierarchy in cgroups.hierarchies()
            for path in hierarchy.iterdir() if path.is_dir() and not named_for_others(path)}


def sysctl_values():
    return {f"sysctl {name} = {value.strip()}" for name, value in sysctls.values().items()}


def devices():
    return {f"device {path}" for path in pathlib.Path("/dev").iterdir()
            if stat.S_ISCHR(path.lstat().st_mode) or stat.S_ISBLK(path.lstat().st_mode)}


def interfaces():
    return {f"network interface {name}" for name in os.listdir("/sys/class/net")}


def files():
    """In folders of the machine that the cluster covers with its own, and in /tmp."""
    places = [("/tmp", f"{ANY_CLUSTER}*"), ("/run", "containerd*"), ("/run", "nvidia*"), ("/run", "cdi"),
              ("/run", "cni"), ("/var/lib", "kubelet"), ("/var/lib", "cni"), ("/var/log", "pods"),
              ("/var/log", "containers"), ("/etc", "cdi"), ("/etc", "cni"), ("/opt", "*")]
    return {f"file {path}" for folder, pattern in places for path in pathlib.Path(folder).glob(pattern)
            if not named_for_others(path)}


def snapshot():
    return (processes() | mounts() | control_groups() | sysctl_values() | devices() | interfaces() | files())


def difference(before, after):
    """What is new, and what is gone or was another value."""
    return ([f"left behind: {what}" for what in sorted(after - before)] +
            [f"gone: {what}" for what in sorted(before - after) if not what.startswith("process ")])
