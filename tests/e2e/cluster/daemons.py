# SPDX-License-Identifier: Apache-2.0
"""The command lines of the components."""


def command_lines(layout, programs):
    """In the order in which they are started."""
    place = layout.place
    kubernetes = programs["kubernetes"]
    kubelet = programs.get("kubelet", kubernetes)
    return {
        "etcd": [f"{kubernetes}/etcd", f"--data-dir={layout.state}/etcd"],
        "containerd": [f"{programs['containerd']}/containerd", f"--config={layout.etc}/containerd.toml"],
        "kube-apiserver": [
            f"{kubernetes}/kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
            "--bind-address=0.0.0.0", "--secure-port=443", f"--advertise-address={place.node_address}",
            f"--service-cluster-ip-range={place.service_range}",
            f"--tls-cert-file={layout.certificate('apiserver')}",
            f"--tls-private-key-file={layout.key('apiserver')}",
            f"--client-ca-file={layout.certificate('ca')}", "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={layout.key('sa')}",
            f"--service-account-signing-key-file={layout.key('sa')}",
            f"--kubelet-client-certificate={layout.certificate('admin')}",
            f"--kubelet-client-key={layout.key('admin')}",
            f"--kubelet-certificate-authority={layout.certificate('ca')}",
            "--kubelet-preferred-address-types=InternalIP", "--allow-privileged=true",
            "--profiling=false"],
        "kubelet": [
            f"{kubelet}/kubelet", f"--config={layout.etc}/kubelet.json",
            f"--kubeconfig={layout.kubeconfig('kubelet')}", f"--cert-dir={layout.etc}/kubelet-pki",
            f"--hostname-override={place.node_name}", f"--node-ip={place.node_address}", "--v=2"],
        # The API's rate is raised, else the first pod waits 5 s for its service account.
        "kube-controller-manager": [
            f"{kubernetes}/kube-controller-manager", *client(layout, "controller-manager"),
            "--use-service-account-credentials=true", "--kube-api-qps=500", "--kube-api-burst=1000",
            f"--service-account-private-key-file={layout.key('sa')}",
            f"--root-ca-file={layout.certificate('ca')}"],
        "kube-scheduler": [f"{kubernetes}/kube-scheduler", *client(layout, "scheduler")],
    }


def client(layout, name):
    config = layout.kubeconfig(name)
    return [f"--kubeconfig={config}", f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}", "--authentication-skip-lookup=true",
            "--bind-address=127.0.0.1", "--leader-elect=false"]
