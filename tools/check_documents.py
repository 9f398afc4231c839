#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tests which documents name exist.

In a table whose last column is called "test", each row must name at least one:
`Suite.Fact` of C++ or `Class.test_fact` of Python. A promise whose test was renamed or
removed is an error. So is a source file that a document names and that is not there.
Usage: tools/check_documents.py DOCUMENT...
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
NAMED = re.compile(r"`(?:[\w/]+/)?(\w+)\.(\w+)`")
CPP_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
PYTHON_CLASS = re.compile(r"^class (\w+)", re.M)
PYTHON_TEST = re.compile(r"^    def (test_\w+)", re.M)


def tests_of(path):
    text = path.read_text()
    if path.suffix in (".cc", ".h"):
        return set(CPP_TEST.findall(text))
    # A Python test belongs to the class that is open above it.
    classes = [(found.start(), found[1]) for found in PYTHON_CLASS.finditer(text)]
    return {(name, found[1]) for found in PYTHON_TEST.finditer(text)
            for name in [name for start, name in classes if start < found.start()][-1:]}


def known_tests():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*_test.cc", "*_test.h", "*test*.py", "tests/*.cc"],
                           check=True, capture_output=True, text=True, cwd=TOP).stdout.split()
    return set().union(*(tests_of(TOP / name) for name in files if (TOP / name).exists()))


def rows_with_tests(text):
    """(line number, last cell) of each row in a table whose last column is "test"."""
    in_table = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            in_table = False
            continue
        # A cell may have an escaped bar in it.
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if in_table and not set(line) <= set("|-: "):
            yield number, cells[-1]
        elif not in_table:
            in_table = bool(cells) and cells[-1] == "test"


# As in `src/core/plan/plan.cc`, or below src/ as in `core/plan/plan.h`.
SOURCE = re.compile(r"`((?:\w+/)+\w+\.(?:cc|h|py))[`:]")


def missing_sources(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name in SOURCE.findall(line):
            if not (TOP / name).exists() and not (TOP / "src" / name).exists():
                yield f"{path}:{number}: there is no {name}"


def problems(path, known):
    yield from missing_sources(path)
    for number, cell in rows_with_tests(path.read_text()):
        named = NAMED.findall(cell)
        if not named:
            yield f"{path}:{number}: the row names no test"
        for suite, fact in named:
            if (suite, fact) not in known:
                yield f"{path}:{number}: there is no test {suite}.{fact}"


def main():
    known = known_tests()
    found = [problem for name in sys.argv[1:] for problem in problems(pathlib.Path(name), known)]
    print("\n".join(found) if found else "documents: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
