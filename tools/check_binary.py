#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the release binary: its size, that it needs nothing but glibc and of that nothing newer than
2.34, and its hardening.

check_binary.py BINARY [BUILD]: BUILD is the folder that it was built in. What cannot be seen in the
binary is looked for in the objects there: control-flow protection, stack clash protection, the level of
fortified functions. Debian's static archives were compiled without control-flow protection, so the linker
does not mark the whole program as having it; our own code has it.
"""
import json
import pathlib
import re
import subprocess
import sys

MOST_BYTES = 14_000_000
# Ubuntu 22.04 has 2.35, RHEL 9 and Amazon Linux 2023 have 2.34.
NEWEST_GLIBC = (2, 34)
GLIBC = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so\.\d+$")
FLAGS = ("-fstack-protector-strong", "-fstack-clash-protection")
# What an object says of itself, by the machine it is for.
CONTROL_FLOW = {"X86-64": "x86 feature: IBT, SHSTK", "AArch64": "aarch64 feature: BTI, PAC"}
FORTIFY_3_SINCE_GCC = 12


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def version(name):
    return tuple(map(int, name.split(".")))


def complaints_about_libraries(path):
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", path))
    foreign = [name for name in needed if not GLIBC.match(name)]
    if foreign:
        yield f"needs more than glibc: {', '.join(foreign)}"
    # Such as GLIBC_ABI_DT_RELR: what a loader must be able to do, by a name that old ones do not know.
    for name in sorted(set(re.findall(r"Name: (GLIBC_[A-Z]\w*)", readelf("-V", path)))):
        yield f"needs {name} of the loader"
    for symbol, found in sorted(set(re.findall(r" UND (\S+?)@GLIBC_([\d.]+)", readelf("--dyn-syms", path)))):
        if version(found) > NEWEST_GLIBC:
            yield (f"needs {symbol} of glibc {found}; at most {'.'.join(map(str, NEWEST_GLIBC))} is allowed. "
                   "src/programs/device_plugin/older_glibc.cc says how to do without")


def complaints_about_hardening(path):
    if not re.search(r"Type:\s+DYN", readelf("-h", path)):
        yield "is not position-independent (-pie)"
    segments = readelf("-l", path)
    if "GNU_RELRO" not in segments:
        yield "has tables that stay writable (-z relro)"
    if not re.search(r"(BIND_NOW|Flags: .*\bNOW\b)", readelf("-d", path)):
        yield "is bound lazily (-z now)"
    stack = re.search(r"GNU_STACK.* (R?W?E?)\s+0x", segments)
    if not stack or "E" in stack[1]:
        yield "has an executable stack"
    imported = set(re.findall(r" UND (\w+)", readelf("--dyn-syms", path)))
    if "__stack_chk_fail" not in imported:
        yield "has no stack protector"
    if not any(re.fullmatch(r"__\w+_chk", name) for name in imported):
        yield "calls no fortified function (_FORTIFY_SOURCE)"


def complaints_about_object(path, command):
    """Of one of our own."""
    machine = re.search(r"Machine:.*\b(X86-64|AArch64)", readelf("-h", path))
    if machine and CONTROL_FLOW[machine[1]] not in readelf("-n", path):
        yield f"{path.name} has no control-flow protection"
    producer = re.search(rb"GNU C\+\+\d* (\d+)[^\0]*", path.read_bytes())
    if not producer:
        return  # clang does not write down its flags
    missing = [flag for flag in FLAGS if flag not in producer[0].decode().split()]
    if missing:
        yield f"{path.name} was compiled without {' '.join(missing)}"
    if int(producer[1]) >= FORTIFY_3_SINCE_GCC and "-D_FORTIFY_SOURCE=3" not in command.split():
        yield f"{path.name} was compiled without -D_FORTIFY_SOURCE=3"


def complaints_about_build(folder):
    """The commands are what CMake wrote down; of those, objects of the program that are there."""
    commands = json.loads((folder / "compile_commands.json").read_text())
    objects = {pathlib.Path(entry["directory"]) / re.search(r" -o (\S+)", entry["command"])[1]: entry["command"]
               for entry in commands}
    ours = {path: command for path, command in objects.items()
            if re.search(r"/src/.*/(tranche_\w+|tranche-device-plugin)\.dir/", str(path)) and path.is_file()}
    if not ours:
        yield f"{folder} has no objects of the program"
    for path, command in sorted(ours.items()):
        yield from complaints_about_object(path, command)


def main(path, build=None):
    size = pathlib.Path(path).stat().st_size
    found = list(complaints_about_libraries(path)) + list(complaints_about_hardening(path))
    if size > MOST_BYTES:
        found.append(f"is larger than {MOST_BYTES / 1e6:.0f} MB: {size / 1e6:.1f} MB")
    if build:
        found += complaints_about_build(pathlib.Path(build))
    if found:
        sys.exit("\n".join(f"{path}: {complaint}" for complaint in found))
    versions = set(re.findall(r"@GLIBC_([\d.]+)", readelf("--dyn-syms", path)))
    print(f"{path}: {size / 1e6:.1f} MB, needs glibc {max(versions, key=version)}, hardened")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
