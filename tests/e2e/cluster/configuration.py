# SPDX-License-Identifier: Apache-2.0
"""The files that the components read. JSON is YAML, so most are values here."""
import json
import resource

from . import nvidia
from .layout import CONTAINERD_SOCKET, PAUSE_IMAGE


def kubeconfig(layout, name):
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": {
            "server": f"https://{layout.place.node_address}:443",
            "certificate-authority": str(layout.certificate("ca"))}}],
        "users": [{"name": name, "user": {
            "client-certificate": str(layout.certificate(name)),
            "client-key": str(layout.key(name))}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
    }


def kubelet(layout, changes):
    """Only what differs from the kubelet's defaults, each for a reason."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        # Any machine: cgroup v1 or v2, with swap or without, no systemd.
        "failCgroupV1": False, "failSwapOn": False,
        "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + layout.cgroup,
        "containerRuntimeEndpoint": "unix://" + CONTAINERD_SOCKET,
        "address": layout.place.node_address, "readOnlyPort": 0,
        "tlsCertFile": str(layout.certificate("kubelet-serving")),
        "tlsPrivateKeyFile": str(layout.key("kubelet-serving")),
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": str(layout.certificate("ca"))}},
        "authorization": {"mode": "Webhook"},
        "resolvConf": str(layout.etc / "resolv.conf"),
        "podLogsDir": str(layout.logs / "pods"),
        "makeIPTablesUtilChains": False,  # there is no iptables
        "maxOpenFiles": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        # What plugins offer is seen at once, and not after 10 s; the rest is told every second.
        "nodeStatusUpdateFrequency": "200ms", "nodeStatusReportFrequency": "1s",
        "syncFrequency": "2s",  # a changed ConfigMap reaches its pods after 2 s, not 60 s
        # A full disk of the machine is not what is tested.
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%",
                         "nodefs.inodesFree": "0%", "imagefs.inodesFree": "0%"},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "registryPullQPS": 0, "eventRecordQPS": 0, "kubeAPIQPS": 100, "kubeAPIBurst": 200,
        "shutdownGracePeriod": "0s",
        **changes,
    }


def cni(pod_range):
    return {"cniVersion": "1.0.0", "name": "e2e", "plugins": [{
        "type": "bridge", "bridge": "cni0", "isDefaultGateway": True,
        "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": pod_range}]]}}]}


def containerd(layout, programs, default_runtime):
    """restrict_oom_score_adj: a machine may not let a score be lowered.
    opt: else it makes /opt/containerd.
    container_annotations: else what a plugin annotates does not reach the runtime.
    config_path: how registries are reached; empty until a story has one."""
    runtimes = {"runc": programs["runc"] + "/runc"}
    if "nvidia" in programs:
        runtimes["nvidia"] = nvidia.program(layout)
    text = f"""version = 3
root = "{layout.state}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "{layout.registries}"
[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = true
cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{programs["cni"]}"]
conf_dir = "{layout.etc}/cni"
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "{default_runtime}"
[plugins."io.containerd.grpc.v1.cri"]
stream_server_address = "127.0.0.1"
[plugins."io.containerd.internal.v1.opt"]
path = "{layout.state}/containerd/opt"
"""
    for name, program in runtimes.items():
        text += f"""[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{name}]
runtime_type = "io.containerd.runc.v2"
container_annotations = ["cdi.k8s.io/*", "nvidia.cdi.k8s.io/*"]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{name}.options]
BinaryName = "{program}"
SystemdCgroup = false
"""
    return text


def write(layout, programs, kubelet_changes, default_runtime="runc"):
    for name in ("admin", "scheduler", "controller-manager", "kubelet"):
        layout.kubeconfig(name).write_text(json.dumps(kubeconfig(layout, name), indent=1))
    (layout.etc / "kubelet.json").write_text(json.dumps(kubelet(layout, kubelet_changes), indent=1))
    (layout.etc / "resolv.conf").write_text("")
    (layout.etc / "cni").mkdir(exist_ok=True)
    (layout.etc / "cni" / "10-e2e.conflist").write_text(json.dumps(cni(layout.place.pod_range), indent=1))
    (layout.etc / "containerd.toml").write_text(containerd(layout, programs, default_runtime))
    if "nvidia" in programs:
        nvidia.write(layout, programs)
    layout.programs_file.write_text(json.dumps(programs, indent=1))
