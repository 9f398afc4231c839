# SPDX-License-Identifier: Apache-2.0
"""What the conformance tests share: NVIDIA's programs, and simulated nodes.

NVIDIA's programs are fetched and built once and kept below ~/.cache/tranche, by
what they were built from. A test that cannot have them is skipped with a word
on why; where CI is set that is a failure, since a check that never runs there
would go unnoticed.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path.home() / ".cache" / "tranche"
SKIPPED = 77


def skip(reason):
    """Ends the program: as skipped, or in CI as failed."""
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(1 if os.environ.get("CI") else SKIPPED)


def fingerprint(*paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def go_programs():
    """The folder with nvidia-device-plugin, gpu-feature-discovery, nvidia-ctk and our small kubelet."""
    module = HERE / "nvidia-plugin"
    folder = CACHE / "go-bin" / fingerprint(
        module / "go.mod", module / "go.sum", module / "kubelet" / "main.go")
    if folder.is_dir():
        return folder
    if not shutil.which("go"):
        skip("no Go compiler to build NVIDIA's plugin with")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built beside and moved: who comes at the same time finds all of it or none.
    with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
        built = subprocess.run(
            ["go", "build", "-mod=readonly", "-o", fresh + "/", "./kubelet",
             "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin",
             "github.com/NVIDIA/k8s-device-plugin/cmd/gpu-feature-discovery",
             "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk"],
            cwd=module, env={**os.environ, "CGO_ENABLED": "1"}, text=True, capture_output=True)
        if built.returncode != 0:
            skip(f"NVIDIA's plugin could not be built:\n{built.stderr}")
        try:
            os.rename(fresh, folder)
        except OSError:
            if not folder.is_dir():
                raise
            return folder
        os.mkdir(fresh)  # for TemporaryDirectory to remove
    folder.chmod(0o755)
    return folder


def bindings_python():
    """A Python that has NVIDIA's bindings."""
    requirements = HERE / "requirements.txt"
    folder = CACHE / "venv-nvml" / fingerprint(requirements)
    python = folder / "bin" / "python3"
    if (folder / "complete").exists():
        return python
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder],
                          text=True, capture_output=True)
    if made.returncode != 0:
        skip(f"no virtual environment could be made: {made.stdout}{made.stderr}")
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", requirements],
        text=True, capture_output=True)
    if installed.returncode != 0:
        skip(f"NVIDIA's Python bindings could not be fetched:\n{installed.stderr}")
    (folder / "complete").touch()
    return python


class Node:
    """A simulated node in a folder of its own, for a `with`."""

    def __init__(self, tool, world):
        self.tool = tool
        self.folder = tempfile.TemporaryDirectory(prefix="tranche.")
        self.root = pathlib.Path(self.folder.name) / "root"
        self.run("make-root", "--world", world, "--root", self.root)

    def run(self, *words):
        done = subprocess.run([self.tool, *map(str, words)], text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"tranche-sim {words}: {done.stderr}")
        return done.stdout

    def fault(self, *words):
        self.run("fault", "--root", self.root, *words)

    @property
    def library_folder(self):
        return self.root / "usr/lib/x86_64-linux-gnu"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()
