#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What build.sh and install.sh refuse, and what they make of their words. With a real
registry and cluster they are told of in tests/e2e."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = "tranche-device-plugin"
# What the scripts need besides make, skopeo and kubectl.
PROGRAMS = ("bash", "env", "dirname", "cat", "grep", "sed", "awk", "head", "tail", "mkdir")
MAKE = """#!/bin/bash
for word; do case $word in IMAGE=*|IMAGE_ARCHIVE=*) echo "$word"; declare "$word";; esac; done
mkdir -p build; echo image > "$IMAGE_ARCHIVE"
"""
SKOPEO = """#!/bin/bash
echo "$@" > "$0.words"
"""


class Scripts(unittest.TestCase):
    """On a copy of what they need of the checkout, with chosen programs and no others."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = pathlib.Path(folder.name, "a checkout")
        for name in ("build.sh", "install.sh", "deploy/image/name.sh"):
            (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, self.checkout / name)
        shutil.copytree(PROJECT / "deploy/manifests", self.checkout / "deploy/manifests")
        self.programs = pathlib.Path(folder.name, "bin")
        self.programs.mkdir()
        for name in PROGRAMS:
            (self.programs / name).symlink_to(shutil.which(name))
        self.elsewhere = pathlib.Path(folder.name, "elsewhere")
        self.elsewhere.mkdir()

    def program(self, name, text):
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def run_script(self, name, *words):
        return subprocess.run([self.checkout / name, *words], cwd=self.elsewhere, text=True,
                              env={"PATH": str(self.programs)}, capture_output=True, check=False)

    def succeeds(self, name, *words):
        done = self.run_script(name, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def fails(self, code, name, *words):
        done = self.run_script(name, *words)
        self.assertEqual(done.returncode, code, done)
        self.assertTrue(done.stderr.startswith(f"{name}: "), done.stderr)
        return done.stderr


class Names(Scripts):
    REFUSED = {
        "": "is empty",
        "http://example.com": "without 'http://', as 'example.com'",
        "exa mple.com": "has a space",
        "Example.com:5000": "has uppercase letters",
        "example.com/": "ends with '/'",
        "example.com:": "is not HOST",
        "example.com:x": "is not HOST",
        "example.com:0": "0 is not a port",
        "example.com:65536": "65536 is not a port",
        "example.com:99999999999999999999": "is not a port",
        "example.com//gpu": "is not HOST",
        "-example.com;true": "no option",
        "example.com;true": "is not HOST",
        "example.com:5000/gpu:0.1": "is not HOST",
        "registry": "a user of docker.io",
        "registry/gpu": "write 'registry:443' for a host of this name, or 'docker.io/registry/gpu'",
    }
    TAKEN = ("example.com", "example.com:443", "192.0.2.7:15001", "localhost/gpu", "registry:5000",
             "docker.io/some-one", "example.com:5000/gpu/a__b")

    def test_what_is_no_registry_is_refused_before_anything_is_built(self):
        self.program("make", MAKE)
        for name, why in self.REFUSED.items():
            with self.subTest(name):
                self.assertIn(why, self.fails(2, "build.sh", name, "0.1"))
                self.assertIn(why, self.fails(2, "install.sh", "--dry-run", name, "0.1"))
        self.assertFalse((self.checkout / "build").exists())

    def test_registries_are_taken(self):
        for name in self.TAKEN:
            with self.subTest(name):
                self.assertIn(f" image: {name}/{IMAGE}:0.1\n",
                              self.succeeds("install.sh", "--dry-run", name, "0.1"))

    def test_what_is_no_tag_is_refused_before_anything_is_built(self):
        self.program("make", MAKE)
        for tag in ("", "0 1", ".1", "a/b", "a:b", "x" * 129, "é"):
            with self.subTest(tag):
                self.assertIn("tag '", self.fails(2, "build.sh", "example.com", tag))
                self.assertIn("tag '", self.fails(2, "install.sh", "--dry-run", "example.com", tag))
        self.assertFalse((self.checkout / "build").exists())

    def test_each_script_has_help_and_refuses_other_words(self):
        for script in ("build.sh", "install.sh"):
            self.assertIn("<image-registry>", self.succeeds(script, "--help"))
            self.fails(2, script)
            self.fails(2, script, "--wrong", "example.com", "0.1")
            self.fails(2, script, "example.com", "0.1", "more")
        self.fails(2, "build.sh", "example.com")


class Build(Scripts):
    def setUp(self):
        super().setUp()
        self.program("make", MAKE)
        self.archive = self.checkout / f"build/{IMAGE}-0.1.tar"

    def pushed(self, *words):
        """What skopeo was told."""
        self.program("skopeo", SKOPEO)
        self.succeeds("build.sh", *words)
        return (self.programs / "skopeo.words").read_text()

    def test_without_skopeo_the_image_is_kept(self):
        said = self.fails(1, "build.sh", "example.com:5000", "0.1")
        self.assertIn("apt-get install skopeo", said)
        self.assertIn(f"The image is in {self.archive}\n", said)
        self.assertTrue(self.archive.exists())

    def test_what_cannot_be_built_is_not_pushed(self):
        self.program("make", "#!/bin/bash\nexit 2\n")
        self.program("skopeo", SKOPEO)
        self.assertIn("could not be built", self.fails(1, "build.sh", "example.com", "0.1"))
        self.assertFalse((self.programs / "skopeo.words").exists())

    def test_the_image_is_named_and_pushed(self):
        self.assertIn(f"docker://example.com/gpu/{IMAGE}:0.1\n", self.pushed("example.com/gpu", "0.1"))

    def test_only_this_machine_is_trusted_without_being_told(self):
        untrusted = "--dest-tls-verify=false"
        for name in ("localhost:5000", "127.0.0.1:5000", "127.1.2.3", "localhost/gpu"):
            self.assertIn(untrusted, self.pushed(name, "0.1"))
        for name in ("example.com", "10.0.0.1:5000", "localhost.example.com", "127.example.com"):
            with self.subTest(name):
                self.assertNotIn(untrusted, self.pushed(name, "0.1"))
                self.assertIn(untrusted, self.pushed("--insecure", name, "0.1"))


class Install(Scripts):
    def manifest(self, *words):
        return self.succeeds("install.sh", "--dry-run", "example.com", *words)

    def test_only_the_image_is_another(self):
        plain = (self.checkout / f"deploy/manifests/{IMAGE}.yml").read_text()
        self.assertEqual(re.sub(" image: .*", f" image: example.com/{IMAGE}:0.1", plain),
                         self.manifest("0.1"))

    def test_the_tag_is_the_manifests_or_that_of_the_last_build_for_this_registry(self):
        version = re.search(r"project\([^)]* VERSION ([0-9.]+)", (PROJECT / "CMakeLists.txt").read_text())[1]
        self.assertIn(f" image: example.com/{IMAGE}:{version}\n", self.manifest())
        self.program("make", MAKE)
        self.program("skopeo", SKOPEO)
        self.succeeds("build.sh", "example.com:5000", "0.7")
        self.assertIn(f" image: example.com/{IMAGE}:{version}\n", self.manifest())
        self.succeeds("build.sh", "example.com", "0.8")
        self.assertIn(f" image: example.com/{IMAGE}:0.8\n", self.manifest())

    def test_a_profile_is_a_variable_more(self):
        for path in sorted((self.checkout / "deploy/manifests").glob("*.yml")):
            if "PROFILE" in path.read_text():
                continue
            with self.subTest(path.name):
                without = self.manifest("--manifest", path.name)
                with_it = self.manifest("--manifest", path.name, "--profile=gpushare")
                added = '\n            - name: PROFILE\n              value: "gpushare"'
                self.assertEqual(with_it.count(added), 1)
                self.assertEqual(with_it.replace(added, ""), without)
                self.assertIn("          env:" + added, with_it)

    def test_a_profile_may_have_a_manifest_of_its_own(self):
        for profile in ("nested-host", "nested-guest"):
            own = f"tranche-device-plugin-{profile}.yml"
            self.assertEqual(self.manifest("--profile", profile), self.manifest("--manifest", own))
            self.assertIn(f'value: "{profile}"', self.manifest("--profile", profile))
            self.refuses("has a PROFILE already", own, f"--profile={profile}")

    def test_a_manifest_of_the_users_own(self):
        own = self.elsewhere / "own.yml"
        own.write_text(f"      - image: 'example.org/a/{IMAGE}@sha256:12'\n        env:\n")
        self.assertEqual(self.manifest("0.1", "--manifest", "own.yml", "--profile", "nvidia"),
                         f"      - image: example.com/{IMAGE}:0.1\n        env:\n"
                         '          - name: PROFILE\n            value: "nvidia"\n')
        self.refuses("names no tag", own)
        own.write_text("      - image: example.org/another:1\n")
        self.refuses(f"has no image {IMAGE}", own)
        own.write_text(f"      - image: {IMAGE}:1\n")
        self.refuses("has not one line 'env:'", own, "--profile=nvidia")
        own.write_text(f"      - image: {IMAGE}:1\n        env:\n        - name: PROFILE\n")
        self.refuses("has a PROFILE already", own, "--profile=nvidia")
        self.refuses("there is no manifest none.yml", "none.yml")

    def refuses(self, why, manifest, *words):
        self.assertIn(why, self.fails(2, "install.sh", "--dry-run", "--manifest", manifest, *words, "example.com"))

    def test_a_stray_file_is_not_taken_for_the_default(self):
        (self.elsewhere / f"{IMAGE}.yml").write_text(f"image: {IMAGE}:stray\n")
        self.assertIn("kind: DaemonSet", self.manifest())

    def test_options_need_right_values(self):
        for words in (["--profile"], ["--profile="], ["--profile", "No"], ["--profile=a\nb"],
                      ["--timeout=5"], ["--timeout", "soon"], ["--manifest="]):
            with self.subTest(words):
                self.fails(2, "install.sh", "--dry-run", "example.com", *words)

    def test_without_kubectl_nothing_is_installed(self):
        said = self.fails(1, "install.sh", "example.com")
        self.assertIn("nothing is installed: there is no kubectl", said)
        self.assertIn("--dry-run", said)


if __name__ == "__main__":
    unittest.main()
