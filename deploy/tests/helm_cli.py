# SPDX-License-Identifier: Apache-2.0
"""Renders the chart with real Helm: the one that TRANCHE_HELM names, or that is on
the PATH."""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
CHART = DEPLOY / "helm"
SKIPPED = 77
# Of the cluster that templates are rendered for; Helm's own differs from build to build.
KUBERNETES = "1.36.0"


# What the agent writes to the API server by default, as variables.
REPORTS = {"GPU_NODE": "true", "NODE_EVENTS": "true", "NODE_CONDITION": "GpusHealthy"}
# Nothing of it.
NO_REPORTS = {"gpuNode": {"enabled": False}, "events": {"enabled": False}, "nodeCondition": None}


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


def objects(values=None, **options):
    """What the chart makes, as values by kind. Helm itself reads the YAML, with the parser that it
    sends objects to the API server with."""
    with tempfile.TemporaryDirectory() as folder:
        chart = pathlib.Path(folder)
        (chart / "templates").mkdir()
        (chart / "Chart.yaml").write_text("{apiVersion: v2, name: reader, version: 1.0.0}")
        (chart / "rendered.yaml").write_text(render(values, **options))
        (chart / "templates" / "read.yaml").write_text(
            '{{ range regexSplit "(?m)^---$" (.Files.Get "rendered.yaml") -1 }}{{ with . | trim }}\n'
            '---\nread: {{ fromYaml . | toJson | b64enc }}\n{{ end }}{{ end }}')
        read = re.findall("^read: (.*)$", run("template", "read", chart), re.MULTILINE)
    found = {}
    for one in map(json.loads, map(base64.b64decode, read)):
        found.setdefault(one["kind"], []).append(one)
    return found


def notes(values, kubernetes=KUBERNETES):
    """Helm shows them at installation only, and so fails there only."""
    with tempfile.TemporaryDirectory() as folder:
        chart = pathlib.Path(folder, "chart")
        shutil.copytree(CHART, chart)
        text = (chart / "templates" / "NOTES.txt").read_text()
        (chart / "templates" / "shown.yaml").write_text(
            '{{- define "notes" -}}\n' + text + '\n{{- end }}\n'
            'notes: {{ include "notes" . | toJson }}\n')
        shown = run("template", "t", chart, "--show-only", "templates/shown.yaml",
                    "--kube-version", kubernetes, values=values)
        return " ".join(shown.replace("\\n", " ").split())


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
