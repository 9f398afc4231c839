# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's device plugin in the place of ours: as a plain process, with what its container would have."""
import unittest

from cluster.cluster import built_programs

from .agent import PluginProcess
from .gpus import DRIVER_ROOT

VERSION = "v0.19.0"

# The last three are on by default in this version, which the next patch release took back.
NODE_FLAGS = [f"--driver-root={DRIVER_ROOT}", f"--driver-root-ctr-path={DRIVER_ROOT}",
              "--gdrcopy-enabled=false", "--gds-enabled=false", "--mofed-enabled=false"]

# Flags of ours that it does not have. A story that gives one is not told of it, for this reason.
FLAGS_OF_OURS = {
    "--container-path": "has no flag to mount a folder with the driver's files",
    "--exclude-devices": "has no flag to leave out GPUs",
    "--host-path": "has no flag to mount a folder with the driver's files",
    "--shared-devices-allocation-policy": "has this flag from v0.20.0 on",
}
# Such that it does without: they say how often to look at health, and it waits for events.
DROPPED = ("--health-check-interval",)

# NVIDIA's runtime gives its container the device nodes in /dev, and it looks for some of them
# there, whatever the driver's root is.
OWN_DEV = f"""
mount -t tmpfs -o mode=755 dev /dev
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/urandom c 1 9
cp -a {DRIVER_ROOT}/dev/nvidia* /dev/ || true
exec "$@"
"""


class NvidiaPlugin(PluginProcess):
    is_ours = False

    def __init__(self, cluster, flags=()):
        program = built_programs(("nvidia-plugin",))["nvidia-plugin"] + "/nvidia-device-plugin"
        self.hooks = cluster.layout.state / "hooks" / "nvidia-cdi-hook"
        chosen = self.translated(flags)
        words = ["--mount", "--propagation=private", "/bin/sh", "-c", OWN_DEV, "nvidia", program,
                 *NODE_FLAGS, *chosen]
        super().__init__(cluster, "/usr/bin/unshare", words,
                         {"LD_LIBRARY_PATH": f"{DRIVER_ROOT}/usr/lib/x86_64-linux-gnu"})
        self.flags = chosen

    def translated(self, flags):
        found = []
        for flag in flags:
            name = flag.partition("=")[0]
            if name in FLAGS_OF_OURS:
                raise unittest.SkipTest(f"{FLAGS_OF_OURS[name]} ({name})")
            if name not in DROPPED:
                found.append(flag)
        if any(flag.startswith("--cdi-disable-hooks=") for flag in found):
            found = [flag for flag in found if not flag.startswith(("--cdi-disable-hooks", "--nvidia-cdi-hook-path"))]
            found.append(f"--nvidia-cdi-hook-path={self.make_hooks()}")
        return found

    def make_hooks(self):
        """It has --cdi-disable-hooks from v0.20.0 on; before, hooks are always there. So that they
        succeed, it is told of NVIDIA's program for them. Of these hooks one is left out, which
        edits a file of the driver's kernel module: a simulated driver has it not in containers."""
        program = built_programs(("nvidia",))["nvidia"] + "/nvidia-cdi-hook"
        self.hooks.parent.mkdir(exist_ok=True)
        self.hooks.write_text(f"""#!/bin/sh
[ "$1" = disable-device-node-modification ] || exec {program} "$@"
""")
        self.hooks.chmod(0o755)
        return self.hooks

    def command(self, *words):
        raise unittest.SkipTest(f"has no command '{words[0]}'")

    def devices(self):
        self.command("devices")

    def until_logged(self, text):
        raise unittest.SkipTest("the story reads our log")

    def until_it_misses_the_kubelet(self):
        """It does not look out for that: it waits for a new socket."""

