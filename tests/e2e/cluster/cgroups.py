# SPDX-License-Identifier: Apache-2.0
"""The cgroup that all pods are below, on cgroup v1 (one in every hierarchy) and v2."""
import contextlib
import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")


def is_v2():
    return (ROOT / "cgroup.controllers").exists()


def hierarchies():
    if is_v2():
        return [ROOT]
    # Several controllers may be one hierarchy, known by links.
    return sorted({path.resolve() for path in ROOT.iterdir() if (path / "cgroup.procs").exists()})


def folders(name):
    return [hierarchy / name for hierarchy in hierarchies()]


def make(name):
    for folder in folders(name):
        folder.mkdir(exist_ok=True)
        # A cpuset without CPUs takes no process.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (folder / file).exists() and not is_v2():
                (folder / file).write_text((folder.parent / file).read_text())
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
