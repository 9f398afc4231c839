# SPDX-License-Identifier: Apache-2.0
"""What is in the image, as a plan: path to entry. Debian's layout, no shell."""
import dataclasses
import pathlib
import re
import subprocess

import elf
import libraries

# Linked into the binary, so that their licences travel with it: Debian's packages, whose
# copyright files they are, and the licence of what is used of each, as SPDX names it.
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
LINKED_PACKAGES = {
    "libabsl-dev": "Apache-2.0",
    "libboost1.74-dev": "BSL-1.0",
    "libc-ares-dev": "MIT",
    "libc6-dev": "LGPL-2.1-or-later",
    "libgcc-12-dev": GCC,
    "libgrpc++-dev": "Apache-2.0",
    "libgrpc-dev": "Apache-2.0 AND BSD-3-Clause",
    "libprotobuf-dev": "BSD-3-Clause",
    "libssl-dev": "Apache-2.0",
    "libstdc++-12-dev": GCC,
    "libyaml-cpp-dev": "MIT",
    "nlohmann-json3-dev": "MIT",
    "zlib1g-dev": "Zlib",
}
# Of the shared libraries that lie beside it: glibc, and libgcc for the driver's library.
SHARED_PACKAGES = {"libc6": "LGPL-2.1-or-later", "libgcc-s1": GCC}
OURS = "Apache-2.0"

# What manifests of other systems call; the program knows them by their names.
OTHER_NAMES = ("nvidia-device-plugin", "mps-control-daemon", "config-manager", "nvidia-gpu-device-plugin",
               "deepomatic-shared-gpu-gcp-k8s-device-plugin", "gpushare-device-plugin-v2")

# A container's root is read-only, so that whatever is mounted has its place.
# /var/run is a folder and no link to /run, because not every runtime mounts
# through a link. Not among them is the folder of the kubelet's pod-resources
# service: the agent takes a folder that is there for one that is mounted.
MOUNT_POINTS = ("dev", "device-plugin", "driver-root", "etc/tranche", "mps", "proc", "run",
                "run/tranche/mps", "sys", "var/lib/kubelet/device-plugins", "var/run/cdi")


class ContentError(Exception):
    """What cannot be put into the image, and why."""


@dataclasses.dataclass(frozen=True)
class Directory:
    mode: int = 0o755


@dataclasses.dataclass(frozen=True)
class Link:
    target: str


@dataclasses.dataclass(frozen=True)
class File:
    content: bytes
    mode: int = 0o644


def plan(binary, license_file, packages=None):
    found = libraries.closure(binary)
    return with_parents({
        **base(),
        **programs(binary),
        **shared_libraries(elf.read(binary), found),
        **notices(license_file, licences(package_owners(found), packages)),
    })


def licences(owners, linked=None):
    """Package to licence, of everything in the image that is not ours."""
    strangers = sorted(set(owners) - set(SHARED_PACKAGES))
    if strangers:
        raise ContentError(f"the licence of {', '.join(strangers)} is not known; add it to SHARED_PACKAGES")
    linked = LINKED_PACKAGES if linked is None else linked
    return {**linked, **{name: SHARED_PACKAGES[name] for name in owners}}


def expression(parts=None):
    """All licences in the image, as SPDX writes it."""
    parts = {**LINKED_PACKAGES, **SHARED_PACKAGES} if parts is None else parts
    names = {name for licence in parts.values() for name in licence.split(" AND ")}
    return " AND ".join([OURS, *sorted(names - {OURS})])


def base():
    entries = {place: Directory() for place in MOUNT_POINTS}
    # NVIDIA's runtime looks for this file to learn where libraries belong.
    # Without it the driver's would be put where Debian's loader does not look.
    entries["etc/debian_version"] = File(b"12\n")
    entries["etc/passwd"] = File(b"root:x:0:0:root:/:/sbin/nologin\n")
    entries["etc/group"] = File(b"root:x:0:\n")
    entries["tmp"] = Directory(0o1777)
    entries["lib"] = Link("usr/lib")
    return entries


def programs(binary):
    content = pathlib.Path(binary).read_bytes()
    return {
        "usr/bin/tranche-device-plugin": File(content, 0o755),
        **{f"usr/bin/{name}": Link("tranche-device-plugin") for name in OTHER_NAMES},
    }


def shared_libraries(program, found):
    folder = f"usr/lib/{program.machine.triplet}"
    entries = {f"{folder}/{name}": File(path.read_bytes(), 0o755)
               for name, path in found.items()}
    if program.interpreter:
        entries.update(loader_link(program.interpreter, folder))
    return entries


def loader_link(interpreter, folder):
    """/lib64/ld-linux-x86-64.so.2, say, leads to the loader among the libraries."""
    place = pathlib.PurePosixPath("usr", interpreter.lstrip("/"))
    if place.parent.name == "lib64":
        return {"lib64": Link("usr/lib64"),
                str(place): Link(f"../{folder.removeprefix('usr/')}/{place.name}")}
    return {str(place): Link(f"{folder.removeprefix('usr/lib/')}/{place.name}")}


def package_owners(found):
    """The Debian packages that the libraries come from."""
    owners = set()
    for path in found.values():
        # Packages name /lib/…, the same file as /usr/lib/….
        merged = str(path).removeprefix("/usr")
        asked = subprocess.run(["dpkg-query", "-S", merged, f"/usr{merged}"], text=True,
                               capture_output=True, check=False)
        if not asked.stdout:
            raise ContentError(f"no Debian package owns {path}, so its licence is not known")
        owners.add(asked.stdout.split(":")[0])
    return owners


def notices(license_file, packages):
    doc = "usr/share/doc"
    ours = pathlib.Path(license_file).read_bytes()
    entries = {f"{doc}/tranche-device-plugin/LICENSE": File(ours)}
    common = set()
    for package in packages:
        source = pathlib.Path("/", doc, package, "copyright")
        if not source.is_file():
            raise ContentError(f"{source} is missing; install {package}, which is in the image")
        text = source.read_bytes()
        entries[f"{doc}/{package}/copyright"] = File(text)
        common.update(re.findall(rb"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text))
    for name in common:
        path = f"usr/share/common-licenses/{name.decode()}"
        if pathlib.Path("/", path).is_file():
            entries[path] = File(pathlib.Path("/", path).read_bytes())
    entries[f"{doc}/tranche-device-plugin/NOTICE"] = File(notice(packages).encode())
    return entries


def notice(packages):
    """Every part, its licence, and where its sources are."""
    lines = ["tranche-device-plugin is under the licence Apache-2.0: LICENSE beside this file.", "",
             "The image has these parts of Debian 12 besides. /usr/share/doc/<package>/copyright has the",
             "terms of each, /usr/share/common-licenses the licences that these refer to. The sources are",
             "Debian's: apt-get source <source>=<version>.", ""]
    for package, licence in sorted(packages.items()):
        how = "a shared library" if package in SHARED_PACKAGES else "linked into the program"
        lines.append(f"{package}, {how}: {licence}; source {source_of(package)}")
    return "\n".join(lines) + "\n"


def source_of(package):
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package}=${source:Version}\n", package],
                           text=True, capture_output=True, check=False)
    if not asked.stdout:
        raise ContentError(f"{package} is not installed; install {package}, which is in the image")
    return asked.stdout.splitlines()[0]  # one line for each architecture


def with_parents(entries):
    """The same with every folder on the way, in order."""
    whole = dict(entries)
    for path in entries:
        for parent in pathlib.PurePosixPath(path).parents:
            if str(parent) != ".":
                whole.setdefault(str(parent), Directory())
    return dict(sorted(whole.items()))
