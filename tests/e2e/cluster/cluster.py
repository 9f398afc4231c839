# SPDX-License-Identifier: Apache-2.0
"""A one-node Kubernetes: up, down, and something run inside."""
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

from . import certificates, cgroups, configuration, images, network, nvidia, sysctls
from .api import Api, ApiError
from .layout import CONTAINERD_SOCKET, Layout

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "programs" / "build"
PROGRAMS = ("kubernetes", "containerd", "runc", "cni", "pods")
PATIENCE = 120


class ClusterError(Exception):
    pass


def built_programs(names=PROGRAMS):
    """Their folders, by name; built if need be, which is told on standard error.
    TRANCHE_PROGRAMS has them where nothing can be built."""
    packed = os.environ.get("TRANCHE_PROGRAMS")
    if packed:
        return {name: f"{packed}/{name}" for name in names}
    done = subprocess.run([str(BUILD), *names], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ClusterError("the cluster's programs could not be built; the messages are above")
    return dict(zip(names, done.stdout.split()))


def until(condition, what, patience=PATIENCE):
    """Waits for a condition and returns its value; `what` is for the message."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not within {patience} s")
        time.sleep(0.02)


def seconds(text):
    """Of a time as the API has it."""
    return datetime.datetime.fromisoformat(text).timestamp()


def is_running(state):
    return Cluster(state).pid() is not None


class Cluster:
    """Its node is in namespaces of its own on this machine."""
    entry = ()  # words before a command on the node, when it has entered these

    def __init__(self, state, programs=None, place=None):
        state = pathlib.Path(state).resolve()
        self.layout = Layout(state, place) if place else Layout.read(state)
        self.programs = programs
        self.api = None

    # Start and stop.

    def up(self, kubelet_changes=None, default_runtime="runc", before_kubelet=None):
        """From an empty state, or from that of a cluster that was taken down: a reboot. What is to
        run before the kubelet does is begun by `before_kubelet`."""
        if self.pid():
            raise ClusterError(f"a cluster is running in {self.layout.state}; take it down first")
        self.programs = self.programs or built_programs()
        self.layout.make_folders()
        certificates.make(self.layout)
        configuration.write(self.layout, self.programs, kubelet_changes or {}, default_runtime)
        images.make(self.layout.images, self.programs["pods"])
        self._start_node()
        try:
            self.boot(before_kubelet)
        except ClusterError as error:
            raise ClusterError(f"{error}. The logs are in {self.layout.logs}") from error
        return self

    def _start_node(self):
        cgroups.make(self.layout.cgroup)
        sysctls.save_for(self.layout.state, is_running)
        with open(self.layout.logs / "node.log", "ab") as log:
            # It outlives us: `up` and `down` are separate commands.
            subprocess.Popen(
                ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL",
                 "--propagation", "private", "python3", "-B", str(HERE / "node.py"), str(self.layout.state)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        until(self.pid, "the node's first process", 10)

    def boot(self, before_kubelet=None):
        """Starts all daemons of a node whose first process runs."""
        self.start("etcd")
        self.start("containerd")
        self.connect()
        self.until_answers("127.0.0.1", 2379, "etcd")
        self.start("kube-apiserver")
        until(lambda: self.inside("ctr", "version").returncode == 0, "containerd")
        for archive in sorted(self.layout.images.glob("*.tar")):
            self.import_image(archive)
        until(self.api_is_ready, "kube-apiserver")
        if before_kubelet:
            before_kubelet()
        began = time.time()
        for name in ("kubelet", "kube-controller-manager", "kube-scheduler"):
            self.start(name)
        # A disk that was kept says that the node is ready: the last kubelet's word.
        until(lambda: self.node_is_ready(since=began), "the node's condition Ready")
        until(self.has_service_account, "the default service account (kube-controller-manager)")
        self.until_answers("127.0.0.1", 10259, "kube-scheduler")
        if "nvidia" in self.programs:
            nvidia.make_runtime_class(self.api)

    def down(self, purge=False):
        """Ends everything. Without purge the disk stays, as after a loss of power."""
        if not self.layout.marker.exists():
            raise ClusterError(f"there is no cluster in {self.layout.state}")
        self._end_node()
        self.layout.control_socket.unlink(missing_ok=True)
        if purge:
            shutil.rmtree(self.layout.state, ignore_errors=False)

    def _end_node(self):
        self.kill_node()
        cgroups.remove(self.layout.cgroup)
        sysctls.restore_for(self.layout.state, is_running)

    # The node.

    def kill_node(self):
        """As a loss of power, and returns when nothing runs on it."""
        pid = self.pid()
        if pid:
            os.kill(pid, signal.SIGKILL)
            until(lambda: not os.path.exists(f"/proc/{pid}"), f"the end of process {pid}", 30)

    def pid(self):
        """Of the node's pid 1, as this machine counts, or None. It listens on the control
        socket, and the kernel says who does, whatever namespaces are in between."""
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.layout.control_socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return None
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return struct.unpack("3i", peer)[0]

    def connect(self):
        """Makes a client of the API server."""
        self.programs = self.programs or json.loads(self.layout.programs_file.read_text())
        self.api = Api(self.layout, self.open_socket)
        return self

    def api_as(self, token):
        """A client of the API server that is who the token says."""
        return Api(self.layout, self.open_socket, token)

    def open_socket(self, address, port, timeout):
        """A connection from within the node's network."""
        pid = self.pid()
        if not pid:
            raise ConnectionRefusedError(f"there is no node in {self.layout.state}")
        return network.open_socket(pid, address, port, timeout)

    def command_inside(self, *words):
        """The command line that runs `words` on the node."""
        path = ":".join([*self.programs.values(), "/usr/sbin:/usr/bin:/sbin:/bin"])
        return ["nsenter", "--target", str(self.pid()), "--mount", "--net", "--pid", "--", *self.entry,
                "/usr/bin/env", f"PATH={path}", f"KUBECONFIG={self.layout.kubeconfig('admin')}",
                f"CONTAINERD_ADDRESS={CONTAINERD_SOCKET}", "CONTAINERD_NAMESPACE=k8s.io", *map(str, words)]

    def inside(self, *words, **options):
        """Runs a command on the node, and returns when it has ended."""
        return subprocess.run(self.command_inside(*words), capture_output=True, text=True, **options)

    def checked(self, *words, **options):
        done = self.inside(*words, **options)
        if done.returncode != 0:
            raise ClusterError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n"
                               f"{done.stdout}{done.stderr}")
        return done.stdout

    def path(self, path):
        """A path on the node, as seen from outside."""
        return pathlib.Path(f"/proc/{self.pid()}/root{path}")

    def import_image(self, archive):
        """Read here: an inner node does not see all files of the machine."""
        with open(archive, "rb") as opened:
            self.checked("ctr", "images", "import", "-", stdin=opened)

    # Daemons.

    def _command(self, verb, name):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.layout.control_socket))
            with connection.makefile("rw") as stream:
                stream.write(f"{verb} {name}\n")
                stream.flush()
                answer = stream.readline().strip()
        if answer != "ok":
            raise ClusterError(f"{verb} {name}: {answer or 'no answer from the node'}")

    def start(self, name):
        self._command("start", name)

    def stop(self, name):
        self._command("stop", name)

    def kill(self, name):
        self._command("kill", name)

    @contextlib.contextmanager
    def frozen(self, name):
        """It hangs meanwhile, as on a machine that is short of everything."""
        self._command("freeze", name)
        try:
            yield
        finally:
            self._command("thaw", name)

    # Conditions.

    def until_answers(self, address, port, what):
        def answers():
            try:
                self.open_socket(address, port, 1).close()
                return True
            except OSError:
                return False
        until(answers, what)

    def api_is_ready(self):
        try:
            return self.api.text("GET", "/readyz") == "ok"
        except (OSError, ApiError):
            return False

    def node_is_ready(self, since=0):
        """So the kubelet has said, at that time or later; it tells whole seconds."""
        try:
            node = self.api.get(f"/api/v1/nodes/{self.layout.place.node_name}")
        except (OSError, ApiError):
            return False
        return any(c["type"] == "Ready" and c["status"] == "True" and seconds(c["lastHeartbeatTime"]) >= int(since)
                   for c in node["status"].get("conditions", []))

    def has_service_account(self):
        try:
            return self.api.get("/api/v1/namespaces/default/serviceaccounts/default")
        except ApiError:
            return False
