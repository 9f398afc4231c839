#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of .clang-tidy over what changed since it last passed.

clangd runs them, as it does in an editor: clang-tidy itself walks through every header
of the libraries once for each check and takes five times as long. The checks that need
the whole function's data flow are off in clangd; clang-tidy runs those, on what is no
test. With --analyze clang-tidy runs the static analyzer alone, on everything.

A file is looked at again when it, a header of ours that it includes, its flags or a
configuration file changed; passes are remembered outside the checkout. Build folders
must have been built: sources include generated headers.
Usage: tools/tidy.py [--analyze] BUILD_FOLDER...
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
PASSES = pathlib.Path.home() / ".cache" / "tranche" / "tidy"
OURS = ("src/", "testbed/", "tests/", "demo/")
INCLUDED_FROM = (TOP / "src", TOP)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)
DATA_FLOW = "-*,bugprone-use-after-move,bugprone-unchecked-optional-access"
ANALYZER = "-*,clang-analyzer-*"
# clangd: what is wrong, without the time of day.
COMPLAINT = re.compile(r"^E\[[\d:.]+\] \[(\S+)\] Line (\d+): (.*)$")


def is_ours(path):
    return path.is_relative_to(TOP) and str(path.relative_to(TOP)).startswith(OURS)


def is_test(path):
    return (path.stem.endswith(("_test", "_fuzz")) or "testing" in path.parts
            or path.is_relative_to(TOP / "tests"))


@functools.cache
def text_of(path):
    return path.read_bytes()


@functools.cache
def included_by(path):
    """Files of ours that this one includes itself."""
    found = set()
    for name in INCLUDE.findall(text_of(path).decode()):
        for folder in (path.parent, *INCLUDED_FROM):
            if (folder / name).is_file():
                found.add((folder / name).resolve())
                break
    return {file for file in found if is_ours(file)}


def made_from(path):
    """The file and all of ours that it includes, directly or not."""
    seen, todo = set(), [path, TOP / "src" / "rings.h"]
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += included_by(file)
    return sorted(seen)


def plain_command(command):
    """Without the precompiled header, which has every usual header in it, and without the
    function bodies of fmt: there would be more to walk through, and nothing to find. Functions that
    only templates use count as unused in clangd; the build finds those that are."""
    plain = re.sub(r" (-include-pch|-DFMT_HEADER_ONLY|-fsanitize)[ =]\S+", "", command)
    return plain.replace(" -Werror", " -Wno-unused-function")


def commands_of(builds):
    """How each source of ours is compiled: as in the first folder that knows it."""
    entries = {}
    for build in builds:
        for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text()):
            path = pathlib.Path(entry["file"]).resolve()
            if is_ours(path) and path not in entries:
                entries[path] = {**entry, "command": plain_command(entry["command"])}
    return entries


def fingerprint(path, command, kind):
    digest = hashlib.sha256(text_of(TOP / ".clang-tidy") + text_of(TOP / ".clangd") + kind.encode())
    digest.update(re.sub(r"\S*" + re.escape(str(TOP)), "", command).encode())
    for file in made_from(path):
        digest.update(str(file.relative_to(TOP)).encode() + text_of(file))
    return digest.hexdigest()


def by_clangd(commands, path):
    """What it complains about; empty: nothing."""
    # --check also tries what an editor does at each word: one line is enough of that.
    done = subprocess.run(["clangd-19", f"--check={path}", "--check-lines=1-1", "--log=error",
                           f"--compile-commands-dir={commands}"], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    lines = [COMPLAINT.match(line) for line in done.stderr.splitlines()]
    named = [f"{path}:{line[2]}: {line[3]} [{line[1]}]" for line in lines if line]
    return "\n".join(named) or done.stderr


def by_clang_tidy(commands, path, checks):
    # GCC's own warning flags mean nothing to clang.
    done = subprocess.run(["clang-tidy-19", "-p", commands, "--quiet", f"--checks={checks}",
                           "--extra-arg=-Wno-unknown-warning-option", str(path)],
                          capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout or done.stderr


def headers_of(entries):
    """Headers of ours, each compiled as the first source that includes it."""
    headers = {}
    for source, entry in sorted(entries.items()):
        for path in made_from(source):
            if path.suffix == ".h" and path not in headers:
                command = re.sub(r" -o \S+ -c \S+$", f" -c {path}", entry["command"])
                headers[path] = {"directory": entry["directory"], "command": command, "file": str(path)}
    return headers


def kinds_of(path, analyze):
    if analyze:
        return [] if path.suffix == ".h" else ["analyzer"]
    return ["clangd"] if path.suffix == ".h" or is_test(path) else ["clangd", "data flow"]


def look(commands, path, kind):
    if kind == "clangd":
        return by_clangd(commands, path)
    return by_clang_tidy(commands, path, DATA_FLOW if kind == "data flow" else ANALYZER)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--analyze", action="store_true")
    parser.add_argument("builds", nargs="+")
    arguments = parser.parse_args()
    PASSES.mkdir(parents=True, exist_ok=True)
    entries = commands_of(arguments.builds)
    entries |= headers_of(entries)
    commands = pathlib.Path(arguments.builds[0], "tidy").resolve()
    commands.mkdir(exist_ok=True)
    (commands / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    known = sorted((path, kind, PASSES / fingerprint(path, entry["command"], kind))
                   for path, entry in entries.items() for kind in kinds_of(path, arguments.analyze))
    todo = [one for one in known if not one[2].exists()]
    print(f"clang-tidy: {len(todo)} of {len(known)} looks to take", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = pool.map(lambda one: look(str(commands), one[0], one[1]), todo)
        for (path, kind, stamp), complaint in zip(todo, complaints):
            if complaint:
                failed += 1
                print(complaint, flush=True)
            else:
                stamp.touch()
                print(f"  ok {path.relative_to(TOP)} ({kind})", flush=True)
    print(f"clang-tidy: {failed} looks with complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
