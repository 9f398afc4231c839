# SPDX-License-Identifier: Apache-2.0
"""Renders the chart with real Helm: the one that TRANCHE_HELM names, or that is on
the PATH."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
CHART = DEPLOY / "helm"
SKIPPED = 77
# Of the cluster that templates are rendered for; Helm's own differs from build to build.
KUBERNETES = "1.36.0"


class RenderError(Exception):
    """What Helm says."""


def program():
    return os.environ.get("TRANCHE_HELM") or shutil.which("helm")


def require():
    """Ends the test as skipped where there is no Helm, or in CI as failed: a check
    that never runs there would go unnoticed."""
    if program() is None:
        print("SKIPPED: no helm on the PATH, and TRANCHE_HELM is not set", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") else SKIPPED)


def run(*arguments, values=None):
    """Helm's answer; the values go in as a file, since JSON is YAML."""
    command = [program(), *map(str, arguments)]
    if values is not None:
        command += ["--values", "-"]
    done = subprocess.run(command, input=json.dumps(values), text=True, capture_output=True,
                          check=False)
    if done.returncode != 0:
        raise RenderError(done.stderr)
    return done.stdout


def render(values=None, release="tranche-device-plugin", namespace="kube-system",
           kubernetes=KUBERNETES):
    return run("template", release, CHART, "--namespace", namespace, "--kube-version", kubernetes,
               values=values or {})


def nested(key, value):
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def merged(one, other):
    both = dict(one)
    for key, value in other.items():
        both[key] = merged(both[key], value) if isinstance(both.get(key), dict) else value
    return both


def of_file(text):
    return {"config": {"map": {"a": text}}}


def environment(rendered):
    """Name to value of the container's variables."""
    pairs = re.findall(r"^ +- name: ([A-Z_]+)\n +value: (.*)$", rendered, re.MULTILINE)
    return {name: value.strip('"') for name, value in pairs}


def section(rendered, key):
    """The lines below the first `key:`, up to one that is not deeper."""
    lines = rendered.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == f"{key}:")
    depth = len(lines[start]) - len(lines[start].lstrip())
    found = []
    for line in lines[start + 1:]:
        if len(line) - len(line.lstrip()) <= depth:
            break
        found.append(line.strip())
    return "\n".join(found)
