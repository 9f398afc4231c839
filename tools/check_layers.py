#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a file includes a ring that its own ring may not know.

The tables below are the architecture. Change them in the commit that needs it,
and say why there. src/rings.h has the same for names. Usage: tools/check_layers.py
"""
import pathlib
import re
import sys

# One row a ring: which others it may include. What is not in src/ is a ring, too.
MAY_INCLUDE = {
    "base": [],
    "os": ["base"],
    "kube": ["base", "os"],
    "core": ["base"],
    "formats": ["base", "core"],
    "node": ["base", "os", "kube", "core", "formats"],
    "programs": ["base", "os", "kube", "core", "formats", "node"],
    # The simulated driver has the driver's C ABI from where the agent has it, and the
    # client of pod-resources is the agent's.
    "testbed": ["base", "os", "kube", "core", "node"],
    "tests": ["base", "os", "kube", "core", "formats", "node", "programs", "testbed"],
    "demo": ["base", "os", "testbed"],
}
# Tests may also make files; those of the node and its programs use the test bed.
TESTS_MAY_INCLUDE = {"core": ["os"], "formats": ["os"], "node": ["testbed"], "programs": ["testbed"]}

ONLY_IN = {  # header prefix: the folders that may include it
    "grpcpp/": ["src/node/kubelet", "src/node/control", "testbed", "tests"],
    "deviceplugin_v1beta1.grpc": ["src/node/kubelet", "testbed", "tests"],
    "podresources_v1": ["src/node/kubelet", "testbed", "tests"],
    "control_v1": ["src/node/control"],
    # mps: the canary is a CUDA client in a process of its own. programs: older_glibc.cc has
    # one of its functions.
    "dlfcn.h": ["src/node/driver", "src/node/mps", "src/programs/device_plugin/older_glibc", "testbed", "tests"],
    # Base64, of which gRPC brings a good one along.
    "absl/": ["src/formats", "src/kube"],
    "boost/": ["src/kube"],
    # Of the node's edges, one talks to the API server.
    "kube/": ["src/kube", "src/node/api_server", "src/programs", "testbed", "tests"],
    "openssl/": ["src/kube"],
    "yaml-cpp/": ["src/os/settings", "src/node/capture", "testbed"],
}
# What decides reaches no file, thread, clock or log; time points as values are fine.
PURE = ["base", "core", "formats"]
IMPURE = re.compile(r"^(unistd\.h|fcntl\.h|poll\.h|signal\.h|dirent\.h|sys/(?!types\.h).*|linux/.*|thread|mutex|"
                    r"shared_mutex|condition_variable|atomic|future|stop_token|fstream|filesystem|iostream|ctime)$")
PURE_BUT = {"src/base/path.cc": "filesystem"}  # its lexical functions alone
CLOCK = re.compile(r"_clock::now\(|\btime\(nullptr\)")
INCLUDE = re.compile(r'^\s*#include [<"]([^>"]+)[>"]', re.M)


def ring_of(path):
    parts = path.parts
    return parts[1] if parts[0] == "src" else parts[0]


def ring_of_header(header):
    first = header.split("/")[0]
    return first if "/" in header and first in MAY_INCLUDE else None


def is_test(path):
    return path.stem.endswith(("_test", "_fuzz")) or "testing" in path.parts


def complaints(path):
    ring, test, text = ring_of(path), is_test(path), path.read_text()
    allowed = {ring, *MAY_INCLUDE[ring], *(TESTS_MAY_INCLUDE.get(ring, []) if test else [])}
    for header in INCLUDE.findall(text):
        target = ring_of_header(header)
        if target and target not in allowed:
            yield f"{path}: {ring} may not include {header}"
        if "/testing/" in header and not test and ring not in ("tests", "testbed", "demo"):
            yield f"{path}: only tests may include {header}"
        for prefix, owners in ONLY_IN.items():
            if header.startswith(prefix) and not test and not str(path).startswith(tuple(owners)):
                yield f"{path}: only {' and '.join(owners)} may include {header}"
        if ring in PURE and not test and IMPURE.match(header) and PURE_BUT.get(str(path)) != header:
            yield f"{path}: {ring} is pure and may not include {header}"
    if ring in PURE and not test and CLOCK.search(text):
        yield f"{path}: {ring} is pure and may not read a clock"
    if path.parts[0] == "src" and len(path.parts) > 2 and f"namespace tranche::{ring}" not in text \
            and "namespace tranche" in text:
        yield f"{path}: what is of {ring} is in namespace tranche::{ring}"


def main():
    found = []
    for root in ("src", "testbed", "tests", "demo"):
        for path in sorted(pathlib.Path(root).rglob("*.[hc]*")):
            if path.suffix not in (".h", ".cc") or path == pathlib.Path("src/rings.h"):
                continue
            if ring_of(path) not in MAY_INCLUDE:
                found.append(f"{path}: {ring_of(path)} is no ring of tools/check_layers.py")
            else:
                found += complaints(path)
    print("\n".join(found) or "layers: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
