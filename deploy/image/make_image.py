#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the container image of tranche-device-plugin, from nothing but the
binary and this machine's glibc: no base image, no registry, no daemon.

The result is one tar that containerd, Docker, Podman and skopeo take:
  ctr -n k8s.io images import build/tranche-device-plugin-image.tar
  docker load -i build/tranche-device-plugin-image.tar
"""
import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys

import archive
import elf
import libraries
import rootfs

HERE = pathlib.Path(__file__).resolve().parent
LICENSE = HERE.parent.parent / "LICENSE"
REPOSITORY = "localhost/tranche-device-plugin"
REFERENCE = re.compile(r"[a-z0-9]+([._:/-]+[a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class UsageError(Exception):
    """What to do otherwise."""


def version_of(binary):
    """As the binary prints it. Another machine's cannot be asked."""
    try:
        asked = subprocess.run([str(pathlib.Path(binary).resolve()), "version"], text=True,
                               capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UsageError(
            f"{binary} cannot be asked for its version; give it with --version") from None
    return asked.stdout.split()[-1]


def settings(machine, version, time):
    """The image's configuration, but for the layer."""
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    return {
        "architecture": machine.architecture,
        "os": "linux",
        "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "config": {
            "User": "0:0",
            "Entrypoint": ["/usr/bin/tranche-device-plugin"],
            "WorkingDir": "/",
            "Env": [
                "PATH=/usr/bin",
                # NVIDIA's runtime gives this container the driver's management
                # library and every GPU.
                "NVIDIA_VISIBLE_DEVICES=all",
                "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            ],
            "Labels": {
                "org.opencontainers.image.title": "tranche-device-plugin",
                "org.opencontainers.image.description": "A Kubernetes node agent for NVIDIA GPUs",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": rootfs.expression(),
            },
        },
    }


def make(binary, reference="", version="", time=0, packages=None):
    """(the tar's bytes, the image's name)"""
    if not pathlib.Path(binary).is_file():
        raise UsageError(f"{binary} is not there; 'make build' makes it")
    program = elf.read(binary)
    version = version or version_of(binary)
    reference = reference or f"{REPOSITORY}:{version}"
    if ":" not in reference.rpartition("/")[2]:
        reference += f":{version}"
    if not REFERENCE.fullmatch(reference):
        raise UsageError(f"'{reference}' is not an image name such as {REPOSITORY}:{version}")
    entries = rootfs.plan(binary, LICENSE, packages)
    return archive.image_tar(entries, settings(program.machine, version, time), reference,
                             time), reference


def source_date():
    text = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not text.isdigit():
        raise UsageError(f"SOURCE_DATE_EPOCH is '{text}', not a number of seconds")
    return int(text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the stripped tranche-device-plugin")
    parser.add_argument("output", help="the tar to write")
    parser.add_argument("--name", default="",
                        help=f"the image's name, with or without tag; {REPOSITORY}:VERSION")
    parser.add_argument("--version", default="", help="instead of what the binary prints")
    options = parser.parse_args(arguments)
    try:
        content, reference = make(options.binary, options.name, options.version, source_date())
    except (UsageError, elf.ElfError, libraries.LibraryError, rootfs.ContentError) as error:
        sys.exit(f"make_image.py: {error}")
    # Written beside and moved: who reads it finds all of it or none.
    fresh = pathlib.Path(options.output + ".new")
    fresh.write_bytes(content)
    fresh.rename(options.output)
    print(f"{options.output}: {reference}, {len(content) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
