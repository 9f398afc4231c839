#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a file includes a module that its own module may not know.

The tables below are the architecture. Change them in the commit that needs it,
and say why there. Usage: tools/check_layers.py [source root]
"""
import pathlib
import re
import sys

MAY_INCLUDE = {  # module of src/: modules it may include, besides itself and base
    "base": [],
    "gpu": [],
    "host": ["gpu"],
    "inventory": ["gpu", "host"],
    "nvml": ["gpu", "host", "inventory"],
    "sharing": ["gpu"],
    "ledger": ["gpu", "sharing"],
    "placement": ["gpu", "sharing", "ledger"],
    # What a host hands to a node pod is made by its dialect, and written by nobody else.
    "nested": ["gpu", "sharing"],
    "grant": ["gpu", "sharing", "nested"],
    "handoff": ["gpu", "grant"],
    # The driver's MPS programs are looked for where CDI looks for its libraries.
    "mps": ["gpu", "sharing", "grant", "handoff"],
    "kubelet": ["gpu", "sharing", "ledger", "placement", "grant", "nested"],
    "control": [],
    "capture": ["gpu", "host", "nvml"],
    # Configuration knows every module's options; no module knows configuration.
    "config": ["gpu", "sharing", "placement", "grant", "handoff", "inventory", "kubelet", "mps", "nested", "nvml"],
    "apps": ["gpu", "host", "inventory", "nvml", "sharing", "ledger", "placement", "grant", "handoff",
             "mps", "nested", "kubelet", "control", "capture", "config"],
}
ONLY_IN = {  # header prefix: the modules that may include it
    "grpcpp/": ["kubelet", "control"],
    "deviceplugin_v1beta1": ["kubelet"],
    "podresources_v1": ["kubelet"],
    "control_v1": ["control"],
    # mps: the canary is a CUDA client in a process of its own.
    "dlfcn.h": ["nvml", "mps"],
    # Base64, of which gRPC brings a good one along.
    "absl/": ["kubelet"],
    "yaml-cpp/": ["config", "capture"],
}
# What decides is pure: it includes none of these.
PURE = ["gpu", "sharing", "ledger", "placement", "grant"]
IMPURE_HEADERS = ["base/log.h", "unistd.h", "fcntl.h", "sys/", "poll.h", "thread", "mutex",
                  "fstream", "filesystem", "iostream"]
INCLUDE = re.compile(r'^\s*#include [<"]([^>"]+)[>"]', re.M)


def complaints(root):
    for path in sorted(root.rglob("*.[hc]*")):
        parts = path.relative_to(root).parts
        module = parts[0]
        if path.stem.endswith(("_test", "_fuzz")) or "testing" in parts or module not in MAY_INCLUDE:
            continue
        for header in INCLUDE.findall(path.read_text()):
            target = header.split("/")[0]
            if target in MAY_INCLUDE and "/" in header:
                if target not in (module, "base") and target not in MAY_INCLUDE[module]:
                    yield f"{path}: {module}/ may not include {header}"
            for prefix, owners in ONLY_IN.items():
                if header.startswith(prefix) and module not in owners:
                    yield f"{path}: only {' and '.join(owners)} may include {header}"
            if module in PURE and any(header == h or (h.endswith("/") and header.startswith(h))
                                      for h in IMPURE_HEADERS):
                yield f"{path}: {module}/ is pure and may not include {header}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    found = list(complaints(root))
    unknown = [p.name for p in root.iterdir() if p.is_dir() and p.name not in MAY_INCLUDE]
    found += [f"{root}/{name}: not in the table of tools/check_layers.py" for name in unknown]
    print("\n".join(found) or "layers: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
