# SPDX-License-Identifier: Apache-2.0
"""The images of the pods, made by hand as archives that containerd imports."""
import hashlib
import io
import json
import tarfile

from .layout import BUSYBOX_IMAGE, PAUSE_IMAGE

APPLETS = ("sh", "cat", "dd", "echo", "env", "false", "find", "grep", "head", "id", "ip", "kill", "ls",
           "mkdir", "mknod", "mount", "nc", "ps", "readlink", "rm", "sleep", "sort", "stat", "test", "touch",
           "tr", "true")


def make(layout, programs):
    pods = programs["pods"]
    write_archive(layout.images / "pause.tar", PAUSE_IMAGE, {"pause": f"{pods}/pause"},
                  config={"Entrypoint": ["/pause"]})
    # Cmd and no entry point: a shell there would take a pod's command for a script.
    write_archive(layout.images / "busybox.tar", BUSYBOX_IMAGE, {"bin/busybox": f"{pods}/busybox", "bin/hold": f"{pods}/hold"},
                  links={f"bin/{name}": "busybox" for name in APPLETS},
                  config={"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]})


def write_archive(path, name, files, links=None, config=None):
    if path.exists():
        return
    layer = layer_of(files, links or {})
    image = json.dumps({
        "architecture": "amd64", "os": "linux", "config": config or {},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as archive:
        for member, content in (("config.json", image), ("layer.tar", layer), ("manifest.json", manifest)):
            add(archive, tarfile.TarInfo(member), content)


def layer_of(files, links):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            layer.addfile(info)
        for name, source in files.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            with open(source, "rb") as file:
                add(layer, info, file.read())
        for name, target in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            layer.addfile(info)
    return buffer.getvalue()


def add(archive, info, content):
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
