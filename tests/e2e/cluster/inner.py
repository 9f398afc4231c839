# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes whose node is a privileged pod of another.

All of it runs in the pod: API server, kubelet, containerd, and the pods of the
inner cluster. The pod's image has next to nothing, so what a node needs is
mounted from the machine, at the same paths. The inner cluster's disk is a folder
of the outer cluster's state. It stays when the pod is deleted, and a new pod
takes it up again.
"""
import pathlib
import sys

from . import cgroups
from .api import ApiError
from .cluster import HERE, Cluster, ClusterError, until
from .layout import BUSYBOX_IMAGE, inner_place

PODS = "/api/v1/namespaces/default/pods"
# Programs and libraries of the machine; and a kubelet does not start without a list of users.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/passwd", "/etc/group")
# A command that is run on the node from outside is where the node's daemons are, and
# so under the same limits, also of devices. It moves first and takes the cgroup namespace
# then: cgroup v2 that is mounted with nsdelegate lets nobody in from outside of that.
JOIN = (f'for file in {cgroups.ROOT}/{cgroups.DAEMONS}/cgroup.procs '
        f'{cgroups.ROOT}/*/{cgroups.DAEMONS}/cgroup.procs; '
        'do [ ! -e "$file" ] || echo 0 > "$file" || exit; done; '
        'exec nsenter --cgroup=/proc/1/ns/cgroup -- "$@"')


class InnerCluster(Cluster):
    """`up` creates the pod and boots, `down` deletes the pod; both may be had again and again."""
    entry = ("/bin/sh", "-c", JOIN, "join")

    def __init__(self, outer, name, limits=None, folders=None, changes=None, lifecycle=None):
        """limits: what the pod asks for; folders: {folder of the machine that it sees at the same
        path: whether it may write there}; changes: of the pod's spec; lifecycle: hooks of its container."""
        super().__init__(outer.layout.state / "inner" / name, outer.programs, inner_place(name))
        self.outer = outer
        self.name = name
        self.limits = limits or {}
        self.folders = folders or {}
        self.changes = changes or {}
        self.lifecycle = lifecycle or {}

    def _start_node(self):
        self.outer.api.create(PODS, self.manifest())
        self.until_node()

    def until_node(self):
        """The node's first process runs."""
        def runs():
            return self.pid() or self.status().get("phase") in ("Failed", "Succeeded")
        try:
            until(runs, "", 60)
        except ClusterError:
            pass
        if not self.pid():
            raise ClusterError(f"the first process of the node pod {self.name} does not run: "
                               f"{self.status()}\n{self.pod_log()}")

    def _end_node(self):
        self.outer.api.delete(f"{PODS}/{self.name}")
        until(lambda: not self.pod(), f"the end of the node pod {self.name}", 30)

    def restart_container(self):
        """Kills the node's first process. The outer kubelet starts the container again, which it
        does if the pod's restartPolicy is Always, and it boots from the same disk."""
        self.kill_node()
        self.until_node()
        self.boot()

    def pod(self):
        """As the outer cluster has it, or None."""
        try:
            return self.outer.api.get(f"{PODS}/{self.name}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def status(self):
        return (self.pod() or {}).get("status", {})

    def pod_log(self):
        try:
            return self.outer.api.text("GET", f"{PODS}/{self.name}/log?container=node")
        except ApiError as error:
            return f"(no output: {error})"

    def manifest(self):
        mounts = self.mounts()
        return {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name},
            "spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": False, "enableServiceLinks": False, "dnsPolicy": "Default",
                "containers": [{
                    "name": "node", "image": BUSYBOX_IMAGE, "securityContext": {"privileged": True},
                    "lifecycle": self.lifecycle,
                    "command": ["unshare", "--cgroup", sys.executable, "-B", str(HERE / "node.py"),
                                str(self.layout.state), "pod"],
                    "env": [{"name": "PATH", "value": "/usr/sbin:/usr/bin:/sbin:/bin"}],
                    "resources": {"limits": {key: str(value) for key, value in self.limits.items()}},
                    "volumeMounts": [{"name": f"folder-{number}", "mountPath": path, "readOnly": not writable}
                                     for number, (path, writable) in enumerate(mounts.items())]}],
                "volumes": [{"name": f"folder-{number}", "hostPath": {"path": path}}
                            for number, path in enumerate(mounts)],
                **self.changes}}

    def mounts(self):
        """{path: whether the pod may write there}"""
        programs = {pathlib.Path(folder).parent for folder in self.programs.values()}
        folders = {True: [self.layout.state], False: [*SYSTEM, HERE.parents[2], sys.prefix, sys.base_prefix, *programs]}
        for folder, writable in self.folders.items():
            folders[writable].append(folder)
        return {path: writable for writable, paths in folders.items() for path in outermost(paths)}


def outermost(paths):
    """Those that are there, without those that lie in others."""
    paths = sorted({pathlib.Path(path) for path in paths if pathlib.Path(path).exists()})
    return [str(path) for path in paths if not any(other in path.parents for other in paths)]
