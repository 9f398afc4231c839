# SPDX-License-Identifier: Apache-2.0
"""Finds the shared libraries of an image on the machine that builds it."""
import pathlib

import elf

# Not needed by the agent itself, but by the driver's libnvidia-ml.so.1, which
# it loads from the host. The last one glibc loads by name when a thread is
# ended from within; without it, the whole process is.
FOR_THE_DRIVER = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                  "libgcc_s.so.1")


class LibraryError(Exception):
    """Which library is missing, and what needs it."""


def folders(machine, root="/"):
    return [pathlib.Path(root, folder, machine.triplet) for folder in ("usr/lib", "lib")]


def find(name, machine, root="/"):
    for folder in folders(machine, root):
        if (folder / name).is_file():
            return folder / name
    return None


def closure(binary, extra=FOR_THE_DRIVER, root="/"):
    """Name to file of everything that is loaded with the binary: what it needs,
    what that needs, the loader, and `extra`."""
    program = elf.read(binary)
    ahead = [(name, binary) for name in program.needed]
    ahead += [(name, "the driver's library") for name in extra]
    if program.interpreter:
        ahead.append((pathlib.PurePath(program.interpreter).name, binary))
    found = {}
    while ahead:
        name, user = ahead.pop(0)
        if name in found:
            continue
        path = find(name, program.machine, root)
        if path is None:
            places = " or ".join(str(folder) for folder in folders(program.machine, root))
            raise LibraryError(f"{name}, which {user} needs, is not in {places}")
        library = elf.read(path)
        if library.machine != program.machine:
            raise LibraryError(f"{path} is for {library.machine.architecture}, "
                               f"but {binary} for {program.machine.architecture}")
        found[name] = path
        ahead += [(other, path) for other in library.needed]
    return found
