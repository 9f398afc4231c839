#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over what changed since it last passed.

A file is looked at again when it, a header of ours that it includes, its flags
or .clang-tidy changed; passes are remembered outside the checkout. Needs
build folders that have been built: their dependency logs say what includes
what. A file is looked at as the first folder that built it did.
Usage: tools/tidy.py [--analyze] BUILD_FOLDER...
"""
import argparse
import concurrent.futures
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
# Half of all files are tests, and every check walks through the test library's
# headers. These are the checks that find something there.
CHECKS_OF_TESTS = ("-*,bugprone-dangling-handle,bugprone-unused-raii,bugprone-use-after-move,"
                   "concurrency-mt-unsafe,google-explicit-constructor,"
                   "readability-braces-around-statements,readability-identifier-naming")


def dependencies(build):
    """Object file -> files of ours that it was made from."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True,
                          text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if not line.startswith(" "):
            current = line.split(":")[0] if line else None
            found[current] = []
        elif current:
            path = pathlib.Path(build, line.strip()).resolve()
            if path.is_relative_to(TOP) and str(path.relative_to(TOP)).startswith(OURS):
                found[current].append(path)
    return found


def object_of(entry):
    return re.search(r" -o (\S+)", entry["command"]).group(1)


def checks_of(path, analyze):
    if analyze:
        return "-*,clang-analyzer-*"
    is_test = path.stem.endswith("_test") or "integration" in path.parts or "testing" in path.parts
    return CHECKS_OF_TESTS if is_test else ""


def fingerprint(entry, files, checks):
    digest = hashlib.sha256((TOP / ".clang-tidy").read_bytes() + checks.encode())
    digest.update(re.sub(r"\S*" + re.escape(str(TOP)), "", entry["command"]).encode())
    for path in sorted(set(files)):
        digest.update(str(path.relative_to(TOP)).encode() + path.read_bytes())
    return digest.hexdigest()


def tidy(build, path, checks):
    # GCC's own warning flags mean nothing to clang.
    command = ["clang-tidy-19", "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option"]
    if checks:
        command.append(f"--checks={checks}")
    return subprocess.run(command + [str(path)], capture_output=True, text=True)


def built_files(build):
    """What was built there of ours: (path, its entry, the files that it was made from)."""
    deps = dependencies(build)
    for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"]).resolve()
        made_from = deps.get(object_of(entry))
        if made_from and path.is_relative_to(TOP) and str(path.relative_to(TOP)).startswith(OURS):
            yield path, entry, made_from


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--analyze", action="store_true")
    parser.add_argument("builds", nargs="+")
    arguments = parser.parse_args()
    PASSES.mkdir(parents=True, exist_ok=True)
    known, seen = set(), set()  # a file that two programs are made from may be known twice
    for build in arguments.builds:
        files = [file for file in built_files(build) if file[0] not in seen]
        for path, entry, made_from in files:
            checks = checks_of(path, arguments.analyze)
            known.add((path, PASSES / fingerprint(entry, [path] + made_from, checks), checks, build))
        seen |= {path for path, _, _ in files}
    todo = sorted(one for one in known if not one[1].exists())
    print(f"clang-tidy: {len(todo)} of {len(known)} to look at", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda one: tidy(one[3], one[0], one[2]), todo)
        for (path, stamp, _, _), result in zip(todo, results):
            if result.returncode == 0:
                stamp.touch()
                print(f"  ok {path.relative_to(TOP)}", flush=True)
            else:
                failed += 1
                print(result.stdout, flush=True)
                if not result.stdout:
                    print(result.stderr, flush=True)
    print(f"clang-tidy: {failed} files with complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
