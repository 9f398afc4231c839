# SPDX-License-Identifier: Apache-2.0
"""Pid 1 of the node: makes its private world, starts the daemons it is told to, and restarts what ends.

It is started in fresh mount, pid and network namespaces: of this machine, or of
a privileged pod. When it ends, the kernel ends every daemon, shim and container
with it, and no mount is left.

  node.py STATE        on this machine
  node.py STATE pod    as a pod's first process, in a cgroup namespace of its own, too
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cluster import cgroups, daemons  # noqa: E402
from cluster.layout import Layout  # noqa: E402

DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9),
           "kmsg": (1, 11), "tty": (5, 0), "fuse": (10, 229)}
RESTART_PAUSE = 1.0


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


def make_world(layout):
    """Of a machine's; what is the machine's own is covered."""
    run("mount", "-t", "proc", "proc", "/proc")
    # Sockets, CDI specifications and network namespaces of this node.
    run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    # The kubelet's socket folder is compiled in; the machine's own is not touched.
    run("mount", "-t", "tmpfs", "-o", "mode=755", "lib", "/var/lib")
    make_dev()
    keep_disk(layout)


def make_world_of_pod(layout):
    """Of a pod's, which has its own /run, /dev, /proc and /sys. They are not covered: there
    may be what the outer cluster's plugins have given the pod."""
    os.makedirs("/run", exist_ok=True)
    os.makedirs("/var", exist_ok=True)
    os.symlink("/run", "/var/run")
    cgroups.mount_own()
    cgroups.enter(cgroups.DAEMONS)
    cgroups.make(layout.cgroup)
    keep_disk(layout)


def keep_disk(layout):
    for source, target in ((layout.kubelet, "/var/lib/kubelet"), (layout.logs, "/var/log")):
        os.makedirs(target, exist_ok=True)
        run("mount", "--bind", source, target)
    # Else mounts made in pods cannot be handed to others.
    run("mount", "--make-rshared", "/")


def make_dev():
    """devtmpfs is one for the whole machine: a node made there would show everywhere."""
    run("mount", "-t", "tmpfs", "-o", "mode=755", "dev", "/dev")
    for name, (major, minor) in DEVICES.items():
        os.mknod(f"/dev/{name}", 0o020666, os.makedev(major, minor))
        os.chmod(f"/dev/{name}", 0o666)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"),
                         ("stderr", "fd/2"), ("ptmx", "pts/ptmx")):
        os.symlink(target, f"/dev/{name}")
    for name, kind, options in (("pts", "devpts", "newinstance,ptmxmode=666,mode=620"),
                                ("shm", "tmpfs", "mode=1777"), ("mqueue", "mqueue", "rw")):
        os.mkdir(f"/dev/{name}")
        run("mount", "-t", kind, "-o", options, name, f"/dev/{name}")


def make_network(place, programs):
    """Again, if a pod's container is started again: the network is the pod's, and stays."""
    ip = [f"{programs['pods']}/busybox", "ip"]
    run(*ip, "link", "set", "lo", "up")
    for address in (place.node_address, place.service_address):
        run(*ip, "addr", "replace", f"{address}/32", "dev", "lo")


class Daemons:
    """Which daemons should run, and which do. The main thread buries, others command."""

    def __init__(self, layout, programs):
        self.layout = layout
        self.lines = daemons.command_lines(layout, programs)
        folders = [programs[name] for name in ("kubernetes", "containerd", "runc", "cni")]
        self.environment = {**os.environ, "PATH": ":".join([*folders, os.environ["PATH"]])}
        self.lock = threading.Lock()
        self.ended = threading.Condition(self.lock)
        self.wanted = set()
        self.pids = {}

    def start(self, name):
        with self.lock:
            self.wanted.add(name)
            self._spawn(name)

    def _spawn(self, name):
        if name in self.pids or name not in self.wanted:
            return
        log = os.open(self.layout.logs / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.pids[name] = os.posix_spawn(
            self.lines[name][0], self.lines[name], self.environment, setsid=True,
            file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2),
                          (os.POSIX_SPAWN_CLOSE, log)])
        os.close(log)

    def stop(self, name, number=signal.SIGKILL):
        """Ends it for good, and returns when it has."""
        with self.lock:
            self.wanted.discard(name)
            if name in self.pids:
                os.kill(self.pids[name], number)
            while name in self.pids:
                self.ended.wait()

    def signal(self, name, number):
        with self.lock:
            os.kill(self.pids[name], number)

    def bury(self, pid):
        with self.lock:
            for name, running in list(self.pids.items()):
                if running == pid:
                    del self.pids[name]
                    self.ended.notify_all()
                    if name in self.wanted:
                        print(f"{name} has ended and is started again", flush=True)
                        threading.Timer(RESTART_PAUSE, self._again, [name]).start()

    def _again(self, name):
        with self.lock:
            self._spawn(name)


def listen(path):
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def serve_commands(server, all_daemons):
    """One line a connection: start, stop, kill, freeze or thaw, and NAME; answered with a line
    when done. Who only wants to know who listens sends none."""
    while True:
        connection, _ = server.accept()
        with connection, connection.makefile("rw") as stream:
            words = stream.readline().split()
            if not words:
                continue
            try:
                verb, name = words
                {"start": all_daemons.start, "kill": all_daemons.stop,
                 "stop": lambda n: all_daemons.stop(n, signal.SIGTERM),
                 "freeze": lambda n: all_daemons.signal(n, signal.SIGSTOP),
                 "thaw": lambda n: all_daemons.signal(n, signal.SIGCONT)}[verb](name)
                stream.write("ok\n")
            except (KeyError, ValueError):
                stream.write(f"unknown command: {' '.join(words)}\n")


def main():
    layout = Layout.read(pathlib.Path(sys.argv[1]))
    programs = json.loads(layout.programs_file.read_text())
    if sys.argv[2:] == ["pod"]:
        make_world_of_pod(layout)
    else:
        make_world(layout)
    make_network(layout.place, programs)
    all_daemons = Daemons(layout, programs)
    # Whoever is answered here takes our number from the kernel and sends commands.
    server = listen(layout.control_socket)
    threading.Thread(target=serve_commands, args=(server, all_daemons), daemon=True).start()
    while True:
        try:
            pid, _ = os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.02)  # nothing was started yet
            continue
        all_daemons.bury(pid)


if __name__ == "__main__":
    main()
