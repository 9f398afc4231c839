# SPDX-License-Identifier: Apache-2.0
"""One authority, and a certificate for everyone, made with openssl."""
import subprocess


def certificates(place):
    """name: (subject, names of a server or None)"""
    return {
        "admin": ("/O=system:masters/CN=admin", None),
        "scheduler": ("/CN=system:kube-scheduler", None),
        "controller-manager": ("/CN=system:kube-controller-manager", None),
        "kubelet": (f"/O=system:nodes/CN=system:node:{place.node_name}", None),
        "apiserver": ("/CN=kube-apiserver",
                      f"IP:127.0.0.1,IP:{place.node_address},IP:{place.service_address},"
                      "DNS:kubernetes.default.svc,DNS:localhost"),
        "kubelet-serving": (f"/CN={place.node_name}", f"IP:{place.node_address}"),
    }


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {words[0]}: {done.stderr}")


def make(layout):
    """Makes what is missing; a node that is rebooted keeps its certificates."""
    if layout.certificate("kubelet-serving").exists():
        return
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *curve, "-days", 3650, "-subj", "/CN=e2e",
            "-keyout", layout.key("ca"), "-out", layout.certificate("ca"))
    openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", layout.key("sa"))
    for name, (subject, server_names) in certificates(layout.place).items():
        request = layout.etc / f"{name}.csr"
        openssl("req", "-new", *curve, "-subj", subject, "-keyout", layout.key(name), "-out", request)
        usage = "serverAuth" if server_names else "clientAuth"
        extensions = f"extendedKeyUsage={usage}\n"
        if server_names:
            extensions += f"subjectAltName={server_names}\n"
        extension_file = layout.etc / f"{name}.ext"
        extension_file.write_text(extensions)
        openssl("x509", "-req", "-in", request, "-CA", layout.certificate("ca"),
                "-CAkey", layout.key("ca"), "-CAcreateserial", "-days", 3650,
                "-extfile", extension_file, "-out", layout.certificate(name))
        request.unlink()
        extension_file.unlink()
