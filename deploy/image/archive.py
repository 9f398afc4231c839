# SPDX-License-Identifier: Apache-2.0
"""An image as one tar: an OCI layout that `docker load` takes as well.

The same plan gives the same bytes, wherever and whenever it is made.
"""
import gzip
import hashlib
import io
import json
import tarfile

import rootfs

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def image_tar(entries, settings, reference, time):
    """The whole image; `settings` is what its configuration says besides the layer."""
    plain = tar_of(entries, time)
    packed = gzip.compress(plain, compresslevel=9, mtime=0)
    config = _json({**settings, "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]}})
    manifest = _json({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _descriptor(CONFIG, config),
        "layers": [_descriptor(LAYER, packed)],
    })
    files = {_blob(blob): blob for blob in (packed, config, manifest)}
    files["oci-layout"] = _json({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = _json({
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [{
            **_descriptor(MANIFEST, manifest),
            "platform": {"architecture": settings["architecture"], "os": settings["os"]},
            "annotations": {
                "io.containerd.image.name": reference,
                "org.opencontainers.image.ref.name": reference.rpartition(":")[2],
            },
        }],
    })
    files["manifest.json"] = _json(
        [{"Config": _blob(config), "RepoTags": [reference], "Layers": [_blob(packed)]}])
    folders = {"blobs": rootfs.Directory(), "blobs/sha256": rootfs.Directory()}
    members = {**folders, **{name: rootfs.File(content) for name, content in files.items()}}
    return tar_of(dict(sorted(members.items())), time)


def tar_of(entries, time):
    """Uncompressed, in the order given, all root's."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, entry in entries.items():
            info = tarfile.TarInfo(path)
            info.type, info.mode, info.linkname, content = _member(entry)
            info.size, info.mtime = len(content), time
            info.uname = info.gname = "root"
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def _member(entry):
    """Type, mode, link target, content."""
    if isinstance(entry, rootfs.Directory):
        return tarfile.DIRTYPE, entry.mode, "", b""
    if isinstance(entry, rootfs.Link):
        return tarfile.SYMTYPE, 0o777, entry.target, b""
    return tarfile.REGTYPE, entry.mode, "", entry.content


def _json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _blob(content):
    return "blobs/sha256/" + hashlib.sha256(content).hexdigest()


def _descriptor(kind, content):
    return {"mediaType": kind, "digest": _digest(content), "size": len(content)}
