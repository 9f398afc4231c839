# SPDX-License-Identifier: Apache-2.0
"""Belongs to the simulation: in a container with the driver's library there is its kernel, too.

A real library asks the kernel, and that is the same in all containers. The
simulated one reads `tranche-sim/world.yaml` in a folder above its own file, and
what a kernel with the driver shows in /proc and /sys is files. So a container
that is being created with the library gets all these as well. The arguments are
those of `runc create`.
"""
import json
import pathlib
import sys

DRIVER_ROOT = "/run/nvidia/driver"
KERNEL_FOLDERS = ("/proc/driver", "/sys/bus/pci", "/sys/module")


def with_kernel(spec, rootfs):
    mounts = spec.setdefault("mounts", [])
    if not any("/libnvidia-ml.so." in mount["destination"] for mount in mounts):
        return spec
    mounts.append({"source": f"{DRIVER_ROOT}/tranche-sim", "destination": "/tranche-sim", "type": "bind",
                   "options": ["rbind", "rw", "nosuid", "nodev"]})
    # Not mounts: runc refuses them below /proc. Hooks may, and NVIDIA's own do.
    hooks = spec.setdefault("hooks", {}).setdefault("createContainer", [])
    hooks[:0] = [{"path": "/bin/mount", "args": ["mount", "-o", "bind,ro", DRIVER_ROOT + folder, rootfs + folder]}
                 for folder in KERNEL_FOLDERS]
    return spec


if __name__ == "__main__":
    bundle = pathlib.Path(sys.argv[sys.argv.index("--bundle") + 1])
    config = bundle / "config.json"
    config.write_text(json.dumps(with_kernel(json.loads(config.read_text()), f"{bundle}/rootfs")))
