# SPDX-License-Identifier: Apache-2.0
"""Reads from an ELF file which machine it is for and what it needs to be loaded.

Only what an image needs: 64 bits, little endian, the interpreter and the names
of the shared libraries. No program is run, so another machine's binary can be
read as well.
"""
import dataclasses
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB = 0, 1, 5


class ElfError(Exception):
    """What is wrong with the file, as one sentence."""


@dataclasses.dataclass(frozen=True)
class Machine:
    architecture: str  # as OCI images name it
    triplet: str  # as Debian's folders do


MACHINES = {
    62: Machine("amd64", "x86_64-linux-gnu"),
    183: Machine("arm64", "aarch64-linux-gnu"),
}


@dataclasses.dataclass(frozen=True)
class Elf:
    machine: Machine
    interpreter: str  # empty: it is loaded by nobody, or is a library
    needed: tuple


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    try:
        return parse(content)
    except ElfError as error:
        raise ElfError(f"{path} {error}") from None
    except (struct.error, ValueError, UnicodeDecodeError):
        raise ElfError(f"{path} is a damaged ELF file") from None


def parse(content):
    if content[:4] != b"\x7fELF":
        raise ElfError("is not an ELF file")
    if content[4:6] != b"\x02\x01":
        raise ElfError("is not a 64-bit little-endian ELF file")
    (number,) = struct.unpack_from("<H", content, 18)
    if number not in MACHINES:
        raise ElfError(f"is for machine {number}; images are made for amd64 and arm64")
    segments = list(_segments(content))
    return Elf(MACHINES[number], _interpreter(content, segments), tuple(_needed(content, segments)))


def _segments(content):
    """(type, offset in the file, address, size in the file) of each."""
    (start,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for index in range(count):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", content, start + index * size)
        yield kind, offset, address, length


def _interpreter(content, segments):
    for kind, offset, _, length in segments:
        if kind == PT_INTERP:
            return content[offset:offset + length].rstrip(b"\0").decode()
    return ""


def _needed(content, segments):
    entries = []
    for kind, offset, _, length in segments:
        if kind == PT_DYNAMIC:
            entries = list(struct.iter_unpack("<qQ", content[offset:offset + length]))
    names, strings = [], None
    for tag, value in entries:
        if tag == DT_NULL:
            break
        if tag == DT_NEEDED:
            names.append(value)
        if tag == DT_STRTAB:
            strings = _place(segments, value)
    for name in names:
        start = strings + name
        yield content[start:content.index(b"\0", start)].decode()


def _place(segments, address):
    """Where in the file lies what is loaded at the address."""
    for kind, offset, start, length in segments:
        if kind == PT_LOAD and start <= address < start + length:
            return offset + address - start
    raise ValueError(address)
