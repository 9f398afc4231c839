# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's container runtime on the node, as the handler "nvidia" of containerd.

containerd -> `runtime`, which says where its configuration is -> nvidia-container-runtime
-> `runc`, which adds what a simulated driver needs -> the cluster's runc.

The configuration is read at every start of a container, so it may be written
anew while the cluster runs.
"""
import json
import pathlib

KERNEL = pathlib.Path(__file__).resolve().parent / "simulated_kernel.py"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
                 "metadata": {"name": "nvidia"}, "handler": "nvidia"}


def folder(layout):
    return layout.etc / "nvidia"


def program(layout):
    """What containerd is to start."""
    return folder(layout) / "runtime"


def configure(layout, programs, mode="auto", by_variable=True, by_mounts=False):
    """What is not said here is the toolkit's default. by_variable: NVIDIA_VISIBLE_DEVICES of
    any container is followed, which is the default too. The prefix of annotations is the GPU
    operator's: containerd does not follow it, so that nothing is given twice."""
    folder(layout).mkdir(exist_ok=True)
    (folder(layout) / "config.toml").write_text(f"""\
accept-nvidia-visible-devices-envvar-when-unprivileged = {json.dumps(by_variable)}
accept-nvidia-visible-devices-as-volume-mounts = {json.dumps(by_mounts)}
[nvidia-container-cli]
root = "/run/nvidia/driver"
[nvidia-ctk]
path = "{programs["nvidia"]}/nvidia-ctk"
[nvidia-container-runtime]
debug = "{layout.logs}/nvidia-container-runtime.log"
mode = "{mode}"
runtimes = ["{folder(layout)}/runc"]
[nvidia-container-runtime.modes.cdi]
annotation-prefixes = ["nvidia.cdi.k8s.io/"]
""")


def write(layout, programs):
    configure(layout, programs)
    write_script(program(layout), f"""\
export NVIDIA_CTK_CONFIG_FILE_PATH="{folder(layout)}/config.toml"
exec "{programs["nvidia"]}/nvidia-container-runtime" "$@"
""")
    write_script(folder(layout) / "runc", f"""\
case " $* " in *" create "*) python3 -B "{KERNEL}" "$@" || exit ;; esac
exec "{programs["runc"]}/runc" "$@"
""")


def write_script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def make_runtime_class(api):
    """If it is not there; a node that is rebooted keeps it."""
    if not api.get(RUNTIME_CLASSES)["items"]:
        api.create(RUNTIME_CLASSES, RUNTIME_CLASS)
