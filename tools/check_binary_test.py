#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of the release binary, on small programs that lack one thing each.

check_binary_test.py PROGRAM: the built tranche-device-plugin, on which exceptions are tried, too.
"""
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

import check_binary

PROGRAM = ""
SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
int main(int count, char** words) {
  char copy[8];
  std::strcpy(copy, words[count - 1]);
  return std::puts(copy);
}
"""
CONTROL_FLOW, NO_CONTROL_FLOW = {
    "aarch64": ("-mbranch-protection=standard", "-mbranch-protection=none"),
}.get(platform.machine(), ("-fcf-protection=full", "-fcf-protection=none"))
HARD = ["-O2", "-g", "-fPIE", "-pie", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong",
        "-fstack-clash-protection", CONTROL_FLOW, "-Wl,-z,relro,-z,now", "-static-libstdc++", "-static-libgcc", "-w"]


class CheckBinary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "small.cc").write_text(SOURCE)

    def compile(self, *changes, output="small", source=None):
        """With the release's flags but for what is changed."""
        if source:
            (self.folder / "small.cc").write_text(source)
        command = ["g++", *HARD, *changes, "-o", str(self.folder / output), str(self.folder / "small.cc")]
        subprocess.run(command, check=True, capture_output=True)
        return self.folder / output

    def said(self, *changes, **options):
        path = self.compile(*changes, **options)
        return [*check_binary.complaints_about_libraries(path), *check_binary.complaints_about_hardening(path)]

    def test_a_hardened_program_is_taken(self):
        self.assertEqual(self.said(), [])

    def test_what_is_missing_is_named(self):
        for change, word in ((["-no-pie", "-fno-pie"], "position-independent"), (["-Wl,-z,norelro"], "relro"),
                             (["-Wl,-z,lazy"], "lazily"), (["-Wl,-z,execstack"], "executable stack"),
                             (["-U_FORTIFY_SOURCE"], "fortified"), (["-fno-stack-protector"], "stack protector")):
            with self.subTest(change=change):
                said = self.said(*change)
                self.assertEqual(len(said), 1, said)
                self.assertIn(word, said[0])

    def test_a_function_of_a_newer_glibc_is_named(self):
        calls = SOURCE.replace("return std", "return (int)arc4random() + std")
        self.assertIn("needs arc4random of glibc 2.36; at most 2.34", self.said(source=calls)[0])

    def test_what_only_a_newer_loader_can_do_is_named(self):
        self.assertIn("needs GLIBC_ABI_DT_RELR of the loader", self.said("-Wl,-z,pack-relative-relocs"))

    def test_a_program_may_have_14_mb(self):
        path = self.compile()
        os.truncate(path, 14_000_000)
        check_binary.main(path)
        os.truncate(path, 14_100_000)
        with self.assertRaisesRegex(SystemExit, "is larger than 14 MB: 14.1 MB"):
            check_binary.main(path)

    def test_a_library_besides_glibc_is_named(self):
        said = self.said("-Wl,--no-as-needed", "-lgcc_s")
        self.assertIn("needs more than glibc: libgcc_s.so.1", said)

    def test_flags_that_only_objects_show_are_looked_for_there(self):
        for change, word in (([], None), ([NO_CONTROL_FLOW], "control-flow"),
                             (["-fno-stack-clash-protection"], "-fstack-clash-protection"),
                             (["-D_FORTIFY_SOURCE=2"], "_FORTIFY_SOURCE=3")):
            with self.subTest(change=change):
                place = "src/x/CMakeFiles/tranche_x.dir/small.o"
                (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
                self.compile("-c", *change, output=place)
                command = "g++ " + " ".join([flag for flag in HARD if not (change and "FORTIFY" in word
                                                                           and flag.startswith("-D"))])
                entry = {"directory": str(self.folder), "command": f"{command} -o {place} -c small.cc"}
                (self.folder / "compile_commands.json").write_text(json.dumps([entry]))
                said = list(check_binary.complaints_about_build(self.folder))
                self.assertEqual(len(said), 1 if word else 0, said)
                self.assertIn(word or "", "".join(said))

    def test_a_build_without_objects_shows_nothing_and_is_refused(self):
        (self.folder / "compile_commands.json").write_text("[]")
        self.assertIn("has no objects", next(check_binary.complaints_about_build(self.folder)))


class Program(unittest.TestCase):
    def test_needs_no_newer_glibc_than_ubuntu_22_04_has(self):
        self.assertEqual(list(check_binary.complaints_about_libraries(PROGRAM)), [])

    def test_is_hardened(self):
        self.assertEqual(list(check_binary.complaints_about_hardening(PROGRAM)), [])
        build = pathlib.Path(PROGRAM).parents[3]
        self.assertEqual(list(check_binary.complaints_about_build(build)), [])

    def test_catches_what_its_libraries_throw(self):
        """A file that is no YAML: the parser throws, deep inside."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: v1\nflags: [\n")
            file.flush()
            done = subprocess.run([PROGRAM, "check-config", f"--config-file={file.name}"], text=True,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(file.name, done.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
