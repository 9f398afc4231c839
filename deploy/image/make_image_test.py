#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images made of a small real program, looked at as a runtime would."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

import elf
import libraries
import make_image
import rootfs

PROGRAM = "/bin/true"
NAME = "localhost/small"
BUILD = ""  # of the program, to see what it is linked with


def members(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {info.name: (info, tar.extractfile(info).read() if info.isfile() else b"")
                for info in tar}


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.content, cls.reference = make_image.make(PROGRAM, NAME, "1.2.3", packages={})
        cls.files = members(cls.content)
        cls.index = json.loads(cls.files["index.json"][1])
        cls.manifest = cls.blob(cls.index["manifests"][0])
        cls.config = cls.blob(cls.manifest["config"])
        packed = cls.raw_blob(cls.manifest["layers"][0])
        cls.layer_tar = gzip.decompress(packed)
        cls.layer = members(cls.layer_tar)

    @classmethod
    def raw_blob(cls, descriptor):
        return cls.files["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")][1]

    @classmethod
    def blob(cls, descriptor):
        return json.loads(cls.raw_blob(descriptor))

    def test_blobs_are_what_their_names_say(self):
        blobs = [name for name in self.files if name.startswith("blobs/sha256/")]
        self.assertEqual(len(blobs), 3)
        for name in blobs:
            digest = hashlib.sha256(self.files[name][1]).hexdigest()
            self.assertEqual(name, "blobs/sha256/" + digest)

    def test_descriptors_have_the_right_sizes(self):
        for descriptor in (self.index["manifests"][0], self.manifest["config"],
                           self.manifest["layers"][0]):
            self.assertEqual(descriptor["size"], len(self.raw_blob(descriptor)))

    def test_diff_id_is_the_uncompressed_layers(self):
        digest = "sha256:" + hashlib.sha256(self.layer_tar).hexdigest()
        self.assertEqual(self.config["rootfs"], {"type": "layers", "diff_ids": [digest]})

    def test_is_named_for_containerd_and_for_docker(self):
        self.assertEqual(self.reference, "localhost/small:1.2.3")
        annotations = self.index["manifests"][0]["annotations"]
        self.assertEqual(annotations["io.containerd.image.name"], self.reference)
        self.assertEqual(annotations["org.opencontainers.image.ref.name"], "1.2.3")
        (docker,) = json.loads(self.files["manifest.json"][1])
        self.assertEqual(docker["RepoTags"], [self.reference])
        self.assertEqual(json.loads(self.files[docker["Config"]][1]), self.config)
        self.assertEqual(gzip.decompress(self.files[docker["Layers"][0]][1]), self.layer_tar)

    def test_says_what_it_runs_and_what_the_runtime_shall_give_it(self):
        self.assertEqual(self.config["config"]["Entrypoint"], ["/usr/bin/tranche-device-plugin"])
        self.assertIn("NVIDIA_VISIBLE_DEVICES=all", self.config["config"]["Env"])
        self.assertEqual(self.config["architecture"], elf.read(PROGRAM).machine.architecture)

    def test_same_input_gives_the_same_bytes(self):
        again, _ = make_image.make(PROGRAM, NAME, "1.2.3", packages={})
        self.assertEqual(again, self.content)

    def test_times_are_the_given_one(self):
        content, _ = make_image.make(PROGRAM, NAME, "1.2.3", time=86400, packages={})
        self.assertEqual({info.mtime for info, _ in members(content).values()}, {86400})
        self.assertEqual({info.mtime for info, _ in self.layer.values()}, {0})

    def test_entries_are_roots_and_in_order(self):
        self.assertEqual({(info.uid, info.gid) for info, _ in self.layer.values()}, {(0, 0)})
        self.assertEqual(list(self.layer), sorted(self.layer))

    def test_every_folder_comes_before_what_is_in_it(self):
        seen = set()
        for name, (info, _) in self.layer.items():
            parent = str(pathlib.PurePosixPath(name).parent)
            self.assertTrue(parent == "." or parent in seen, name)
            if info.isdir():
                seen.add(name)

    def test_every_link_leads_to_something(self):
        for name, (info, _) in self.layer.items():
            if info.issym():
                self.assertFalse(info.linkname.startswith("/"), name)
                target = pathlib.Path("/", name).parent / info.linkname
                merged = str(pathlib.Path(*target.parts[1:]))
                parts = []
                for part in pathlib.PurePosixPath(merged).parts:
                    parts = parts[:-1] if part == ".." else parts + [part]
                self.assertIn("/".join(parts), self.layer, name)

    def test_has_the_program_under_all_its_names_and_no_shell(self):
        self.assertEqual(self.layer["usr/bin/tranche-device-plugin"][1],
                         pathlib.Path(PROGRAM).read_bytes())
        names = {"nvidia-device-plugin", "mps-control-daemon", "config-manager", "nvidia-gpu-device-plugin",
                 "deepomatic-shared-gpu-gcp-k8s-device-plugin", "gpushare-device-plugin-v2"}
        for name in names:
            self.assertEqual(self.layer[f"usr/bin/{name}"][0].linkname, "tranche-device-plugin")
        programs = [name for name in self.layer if name.startswith("usr/bin/")]
        self.assertEqual(len(programs), 1 + len(names))

    def test_has_no_folder_that_would_pass_for_the_kubelets(self):
        self.assertNotIn("var/lib/kubelet/pod-resources", self.layer)

    def test_has_what_the_drivers_library_needs(self):
        folder = f"usr/lib/{elf.read(PROGRAM).machine.triplet}"
        for name in libraries.FOR_THE_DRIVER:
            self.assertIn(f"{folder}/{name}", self.layer)
        self.assertIn("etc/debian_version", self.layer)

    def test_has_the_licences_of_what_is_in_it(self):
        for name in ("tranche-device-plugin/LICENSE", "libc6/copyright", "libgcc-s1/copyright"):
            self.assertIn(f"usr/share/doc/{name}", self.layer)
        for name in ("LGPL-2.1", "GPL-3"):
            self.assertIn(f"usr/share/common-licenses/{name}", self.layer)
        self.assertIn(b"GCC RUNTIME LIBRARY EXCEPTION", self.layer["usr/share/doc/libgcc-s1/copyright"][1])

    def test_names_the_licences_of_glibc_and_libgcc(self):
        label = self.config["config"]["Labels"]["org.opencontainers.image.licenses"]
        self.assertTrue(label.startswith("Apache-2.0 AND "), label)
        notice = self.layer["usr/share/doc/tranche-device-plugin/NOTICE"][1].decode()
        for package, licence in (("libc6", "LGPL-2.1-or-later"),
                                 ("libgcc-s1", "GPL-3.0-or-later WITH GCC-exception-3.1")):
            self.assertIn(licence, label.split(" AND "))
            self.assertRegex(notice, rf"\n{package}, a shared library: {licence}; source \S+=\S+\n")

    def test_runs_with_nothing_but_its_own_files(self):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(self.layer_tar)) as tar:
                tar.extractall(folder)
            loader = folder + elf.read(PROGRAM).interpreter
            triplet = elf.read(PROGRAM).machine.triplet
            command = [loader, "--inhibit-cache", "--library-path", f"{folder}/usr/lib/{triplet}"]
            command += ["--list", f"{folder}/usr/bin/tranche-device-plugin"]
            listed = subprocess.run(command, text=True, capture_output=True, check=True).stdout
            used = [line.split("=>")[1].split()[0] for line in listed.splitlines() if "=>" in line]
            self.assertTrue(used)
            self.assertEqual([path for path in used if not path.startswith(folder)], [])


class Licences(unittest.TestCase):
    def test_are_known_of_everything_that_the_program_is_linked_with(self):
        """Archives by the build's own link line; what GCC adds by itself is asked of GCC."""
        if not BUILD:
            self.skipTest("no build folder is given")
        text = pathlib.Path(BUILD, "build.ninja").read_text()
        links = re.search(r"^build src/programs/device_plugin/tranche-device-plugin:.*?^  LINK_LIBRARIES = (.*?)$", text,
                          re.DOTALL | re.MULTILINE)[1]
        archives = [word for word in links.split() if word.startswith("/") and word.endswith(".a")]
        self.assertTrue(archives)
        for name in ("libgcc.a", "libgcc_eh.a", "libstdc++.a", "crt1.o", "crtbeginS.o"):
            found = subprocess.run(["g++", f"-print-file-name={name}"], text=True, capture_output=True, check=True)
            archives.append(found.stdout.strip())
        owners = rootfs.package_owners({path: pathlib.Path(path).resolve() for path in archives})
        self.assertEqual(owners - set(rootfs.LINKED_PACKAGES), set())

    def test_of_a_library_that_nobody_has_looked_at_stops_the_image(self):
        with self.assertRaisesRegex(rootfs.ContentError, "licence of libother1 is not known"):
            rootfs.licences({"libc6", "libother1"})

    def test_are_all_in_the_notice(self):
        notice = rootfs.notice({**rootfs.LINKED_PACKAGES, **rootfs.SHARED_PACKAGES})
        for package, licence in rootfs.LINKED_PACKAGES.items():
            self.assertIn(f"\n{package}, linked into the program: {licence}; source ", notice)


class Refusal(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, content):
        path = pathlib.Path(self.folder.name, "program")
        path.write_bytes(content)
        return str(path)

    def test_missing_binary(self):
        with self.assertRaisesRegex(make_image.UsageError, "is not there; 'make build' makes it"):
            make_image.make("/nowhere/program")

    def test_not_elf(self):
        with self.assertRaisesRegex(elf.ElfError, "program is not an ELF file"):
            make_image.make(self.file(b"#!/bin/sh\n"))

    def test_other_machine(self):
        content = bytearray(pathlib.Path(PROGRAM).read_bytes())
        content[18:20] = b"\xf3\x00"
        with self.assertRaisesRegex(elf.ElfError, "program is for RISC-V; images are made for amd64"):
            make_image.make(self.file(content))

    def test_damaged(self):
        with self.assertRaisesRegex(elf.ElfError, "is a damaged ELF file"):
            make_image.make(self.file(pathlib.Path(PROGRAM).read_bytes()[:70]))

    def test_32_bits(self):
        content = bytearray(pathlib.Path(PROGRAM).read_bytes())
        content[4] = 1
        with self.assertRaisesRegex(elf.ElfError, "is not a 64-bit little-endian ELF file"):
            make_image.make(self.file(content))

    def test_machine_without_readelf(self):
        with unittest.mock.patch.dict(os.environ, PATH="/nowhere"):
            with self.assertRaisesRegex(elf.ElfError, "install the package binutils"):
                make_image.make(PROGRAM)

    def test_library_that_is_not_found(self):
        content = pathlib.Path(PROGRAM).read_bytes().replace(b"libc.so.6\0", b"libx.so.6\0")
        path = self.file(content)
        with self.assertRaisesRegex(libraries.LibraryError, f"libx.so.6, which {path} needs, is"):
            make_image.make(path, version="1")

    def test_licence_that_is_not_found(self):
        with self.assertRaisesRegex(rootfs.ContentError, "install no-such-package"):
            make_image.make(PROGRAM, version="1", packages={"no-such-package": "MIT"})

    def test_binary_that_has_no_version(self):
        with self.assertRaisesRegex(make_image.UsageError, "give it with --version"):
            make_image.make("/bin/false")

    def test_bad_name(self):
        with self.assertRaisesRegex(make_image.UsageError, "is not an image name such as"):
            make_image.make(PROGRAM, "Not A Name", "1")


if __name__ == "__main__":
    BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    unittest.main()
