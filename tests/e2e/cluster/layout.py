# SPDX-License-Identifier: Apache-2.0
"""Names, addresses and folders of the cluster.

All that a cluster writes lies in one folder, its state. Addresses are seen
inside its network namespace only, so clusters do not meet.
"""
import dataclasses
import pathlib

NODE_NAME = "node-1"
# Ordinary addresses, put on the loopback device: the kubelet refuses loopback
# addresses, and pods reach these through the bridge without a kube-proxy.
NODE_ADDRESS = "10.99.0.1"
SERVICE_ADDRESS = "10.96.0.1"
SERVICE_RANGE = "10.96.0.0/24"
POD_RANGE = "10.97.0.0/24"

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "localhost/pause:e2e"
BUSYBOX_IMAGE = "localhost/busybox:e2e"
COMPUTE_IMAGE = "localhost/compute:e2e"


@dataclasses.dataclass(frozen=True)
class Layout:
    state: pathlib.Path

    @property
    def etc(self):  # certificates and configurations
        return self.state / "etc"

    @property
    def logs(self):
        return self.state / "log"

    @property
    def kubelet(self):  # /var/lib/kubelet inside
        return self.state / "kubelet"

    @property
    def images(self):
        return self.state / "images"

    @property
    def pid_file(self):  # of the node's pid 1, as seen from outside
        return self.state / "node.pid"

    @property
    def control_socket(self):
        return self.state / "node.sock"

    @property
    def registries(self):  # how the node reaches each: a folder with a hosts.toml
        return self.etc / "registries"

    @property
    def programs_file(self):  # JSON: name of a program module -> its folder
        return self.etc / "programs.json"

    @property
    def cgroup(self):
        """Below every hierarchy's root."""
        return self.state.name.replace(".", "-")

    def certificate(self, name):
        return self.etc / f"{name}.crt"

    def key(self, name):
        return self.etc / f"{name}.key"

    def kubeconfig(self, name):
        return self.etc / f"{name}.kubeconfig"

    @property
    def marker(self):  # that this folder is a cluster's, and may be removed
        return self.state / "this-is-a-test-cluster"

    def make_folders(self):
        for folder in (self.etc, self.logs, self.kubelet, self.images, self.state / "etcd",
                       self.state / "containerd"):
            folder.mkdir(parents=True, exist_ok=True)
        self.marker.touch()
        (self.state / "etcd").chmod(0o700)
