# SPDX-License-Identifier: Apache-2.0
"""Reads with readelf which machine an ELF file is for and what it needs to be loaded.

The file is not run, so another machine's binary can be read as well.
"""
import dataclasses
import os
import re
import subprocess


class ElfError(Exception):
    """What is wrong with the file, as one sentence."""


@dataclasses.dataclass(frozen=True)
class Machine:
    architecture: str  # as OCI images name it
    triplet: str  # as Debian's folders do


MACHINES = {  # by readelf's name
    "Advanced Micro Devices X86-64": Machine("amd64", "x86_64-linux-gnu"),
    "AArch64": Machine("arm64", "aarch64-linux-gnu"),
}


@dataclasses.dataclass(frozen=True)
class Elf:
    machine: Machine
    interpreter: str  # empty: it is loaded by nobody, or is a library
    needed: tuple


def read(path):
    try:
        done = subprocess.run(["readelf", "--wide", "-h", "-l", "-d", str(path)], text=True,
                              capture_output=True, env={**os.environ, "LC_ALL": "C"})
    except FileNotFoundError:
        raise ElfError("cannot run readelf; install the package binutils") from None
    fields = dict(re.findall(r"^  (Class|Data|Machine): +(.+)$", done.stdout, re.MULTILINE))
    if len(fields) != 3:
        raise ElfError(f"{path} is not an ELF file")
    if fields["Class"] != "ELF64" or not fields["Data"].endswith("little endian"):
        raise ElfError(f"{path} is not a 64-bit little-endian ELF file")
    # The exit status is 0 even if the file is shorter than its headers say.
    if done.returncode or "Error:" in done.stderr:
        raise ElfError(f"{path} is a damaged ELF file")
    if fields["Machine"] not in MACHINES:
        raise ElfError(f"{path} is for {fields['Machine']}; images are made for amd64 and arm64")
    interpreter = re.search(r"\[Requesting program interpreter: (.+)\]", done.stdout)
    return Elf(MACHINES[fields["Machine"]], interpreter[1] if interpreter else "",
               tuple(re.findall(r"\(NEEDED\) +Shared library: \[(.+)\]", done.stdout)))
