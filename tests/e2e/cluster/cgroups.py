# SPDX-License-Identifier: Apache-2.0
"""The cgroup that all pods are below, on cgroup v1 (one in every hierarchy) and v2."""
import contextlib
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
# Of a node in a pod: there its daemons are. On cgroup v2, one that has others below it has no process.
DAEMONS = "daemons"


def is_v2():
    return (ROOT / "cgroup.controllers").exists()


def hierarchies():
    if is_v2():
        return [ROOT]
    # Several controllers may be one hierarchy, known by links.
    return sorted({path.resolve() for path in ROOT.iterdir() if (path / "cgroup.procs").exists()})


def folders(name):
    return [hierarchy / name for hierarchy in hierarchies()]


def mount_own():
    """In a new cgroup namespace: shows as the root of each hierarchy where this process is in it.
    Else paths in /proc and those below /sys/fs/cgroup would not be the same."""
    subprocess.run(["umount", "--recursive", "--lazy", ROOT], check=True)
    kinds = [line.split(":")[1] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
    if kinds == [""]:
        mount("cgroup2", "rw", ROOT)
        return
    mount("tmpfs", "mode=755", ROOT)
    for kind in kinds:  # v1: names of controllers, or "name=NAME"; v2 may be there besides
        folder = ROOT / (kind.removeprefix("name=") or "unified")
        folder.mkdir()
        if not kind:
            mount("cgroup2", "rw", folder)
            continue
        mount("cgroup", f"none,{kind}" if kind.startswith("name=") else kind, folder)
        for controller in kind.split(",") if "," in kind else ():
            (ROOT / controller).symlink_to(kind)


def mount(kind, options, folder):
    subprocess.run(["mount", "-t", kind, "-o", options, "cgroup", folder], check=True)


def enter(name):
    """Makes it, and puts this process there."""
    make_folders(name)
    for folder in folders(name):
        (folder / "cgroup.procs").write_text("0")


def make_folders(name):
    for folder in folders(name):
        folder.mkdir(exist_ok=True)
        # A cpuset without CPUs takes no process.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (folder / file).exists() and not is_v2():
                (folder / file).write_text((folder.parent / file).read_text())


def make(name):
    make_folders(name)
    if is_v2():
        for folder in (ROOT, ROOT / name):
            hand_down_controllers(folder)


def hand_down_controllers(folder):
    """All that can be: one that cannot must not keep the others back."""
    handed_down = (folder / "cgroup.subtree_control").read_text().split()
    for controller in (folder / "cgroup.controllers").read_text().split():
        if controller not in handed_down:
            with contextlib.suppress(OSError):
                (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def remove(name, patience=20):
    """Depth first. A cgroup whose last process is being buried is still busy."""
    end = time.monotonic() + patience
    for folder in folders(name):
        for path, _, _ in os.walk(folder, topdown=False):
            while True:
                try:
                    os.rmdir(path)
                    break
                except FileNotFoundError:
                    break
                except OSError as error:
                    if time.monotonic() > end:
                        left = pathlib.Path(path, "cgroup.procs").read_text().split()
                        raise RuntimeError(f"cgroup {path} cannot be removed ({error}); "
                                           f"processes in it: {left}") from error
                    time.sleep(0.02)
