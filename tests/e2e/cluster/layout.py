# SPDX-License-Identifier: Apache-2.0
"""Names, addresses and folders of the cluster.

All that a cluster writes lies in one folder, its state. Addresses are seen
inside its network namespace only, so clusters do not meet.
"""
import dataclasses
import json
import pathlib


@dataclasses.dataclass(frozen=True)
class Place:
    """Ordinary addresses, put on the loopback device: the kubelet refuses loopback
    addresses, and pods reach these through the bridge without a kube-proxy."""
    node_name: str
    node_address: str
    service_address: str
    service_range: str
    pod_range: str


OUTER = Place("node-1", "10.99.0.1", "10.96.0.1", "10.96.0.0/24", "10.97.0.0/24")
NODE_NAME = OUTER.node_name


def inner_place(node_name):
    """Of a node in a pod: that pod has an address of the outer cluster's, too."""
    return Place(node_name, "10.89.0.1", "10.86.0.1", "10.86.0.0/24", "10.87.0.0/24")


CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "localhost/pause:e2e"
BUSYBOX_IMAGE = "localhost/busybox:e2e"
COMPUTE_IMAGE = "localhost/compute:e2e"


@dataclasses.dataclass(frozen=True)
class Layout:
    state: pathlib.Path
    place: Place = OUTER

    @classmethod
    def read(cls, state):
        """Of a cluster that is there."""
        file = cls(state).place_file
        return cls(state, Place(**json.loads(file.read_text()))) if file.exists() else cls(state)

    @property
    def place_file(self):
        return self.etc / "place.json"

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
    def control_socket(self):  # the node's pid 1 listens there
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
        self.place_file.write_text(json.dumps(dataclasses.asdict(self.place), indent=1))
        (self.state / "etcd").chmod(0o700)
