# SPDX-License-Identifier: Apache-2.0
"""The images of the pods, written by the tool that makes the agent's image.

python3 -m cluster.images FOLDER writes all beside the pods' programs in FOLDER, for a machine without
readelf.
"""
import pathlib
import shutil
import sys

from .layout import BUSYBOX_IMAGE, COMPUTE_IMAGE, PAUSE_IMAGE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "deploy" / "image"))
import archive  # noqa: E402
import elf  # noqa: E402
import libraries  # noqa: E402
import rootfs  # noqa: E402

APPLETS = ("sh", "cat", "dd", "echo", "env", "false", "find", "grep", "head", "id", "ip", "kill", "ls",
           "mkdir", "mknod", "mount", "nc", "ps", "readlink", "rm", "sleep", "sort", "stat", "test", "touch",
           "tr", "true")
FOLDERS = {**{name: rootfs.Directory() for name in ("dev", "etc", "proc", "sys")},
           "tmp": rootfs.Directory(0o1777)}


def make(folder, pods):
    write(folder / "pause.tar", PAUSE_IMAGE, pods, ["pause"], {"Entrypoint": ["/bin/pause"]})
    write(folder / "busybox.tar", BUSYBOX_IMAGE, pods, ["busybox", "hold"], SHELL)


def make_compute(path, pods):
    """A program that uses a GPU, with the C library that it and the driver's files need."""
    write(path, COMPUTE_IMAGE, pods, ["busybox", "compute"], SHELL)


# Cmd and no entry point: a shell there would take a pod's command for a script.
SHELL = {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]}


def write(path, name, folder, programs, config):
    folder = pathlib.Path(folder)
    if path.exists():
        return
    if (folder / path.name).exists():
        shutil.copy(folder / path.name, path)
        return
    entries = dict(FOLDERS)
    for program in programs:
        entries[f"bin/{program}"] = rootfs.File((folder / program).read_bytes(), 0o755)
        about = elf.read(folder / program)
        if about.interpreter:
            entries.update(rootfs.shared_libraries(about, libraries.closure(folder / program)))
    if "busybox" in programs:
        entries.update({f"bin/{name}": rootfs.Link("busybox") for name in APPLETS})
    settings = {"architecture": about.machine.architecture, "os": "linux", "config": config}
    path.write_bytes(archive.image_tar(rootfs.with_parents(entries), settings, name, time=0))


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]), sys.argv[1])
    make_compute(pathlib.Path(sys.argv[1], "compute.tar"), sys.argv[1])
