#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the release binary: its size, and that it needs nothing but glibc."""
import re
import subprocess
import sys

MOST_BYTES = 12_000_000
GLIBC = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so\.\d+$")

path = sys.argv[1]
size = len(open(path, "rb").read())
headers = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
needed = re.findall(r"\(NEEDED\).*\[(.+)\]", headers)
foreign = [name for name in needed if not GLIBC.match(name)]
print(f"{path}: {size / 1e6:.1f} MB, needs {', '.join(needed)}")
if size > MOST_BYTES:
    sys.exit(f"{path} is larger than {MOST_BYTES / 1e6:.0f} MB")
if foreign:
    sys.exit(f"{path} needs more than glibc: {', '.join(foreign)}")
