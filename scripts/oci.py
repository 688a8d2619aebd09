"""Writes an image of one layer as an OCI archive (https://github.com/opencontainers/image-spec, version 1.0).

Usage: oci.py LAYER.tar ARCHITECTURE VERSION SECONDS >IMAGE.tar. The same layer gives the same bytes; SECONDS since 1970 are the
only time in it.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
import time

LAYER, ARCHITECTURE, VERSION, SECONDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
STATE, RUN = "/var/lib/dld", "/run/dld"
TYPE = "application/vnd.oci.image."

archive = tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.USTAR_FORMAT)


def put(name, content):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(content), SECONDS, 0o644
    archive.addfile(entry, io.BytesIO(content))


def blob(kind, content, **more):
    """Adds content under its digest, and returns its descriptor."""
    if not isinstance(content, bytes):
        content = json.dumps(content, indent=1).encode()
    digest = hashlib.sha256(content).hexdigest()
    put("blobs/sha256/" + digest, content)
    return {"mediaType": TYPE + kind, "digest": "sha256:" + digest, "size": len(content), **more}


with open(LAYER, "rb") as file:
    layer = file.read()
created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(SECONDS))
config = {
    "created": created,
    # The names of Go, which differ from Debian's.
    "architecture": {"armhf": "arm", "i386": "386", "ppc64el": "ppc64le"}.get(ARCHITECTURE, ARCHITECTURE),
    "os": "linux",
    "config": {
        "User": "1000:1000",
        "Env": [
            "PATH=/usr/bin:/bin",
            "HOME=" + STATE,
            "DLD_SOCKET=" + RUN + "/dld.sock",
            "LIBDISPATCH_LOG=NO",
        ],
        "Entrypoint": ["/usr/bin/dld", "--state-dir", STATE, "--socket", RUN + "/dld.sock"],
        "Volumes": {STATE: {}, RUN: {}},
        "WorkingDir": "/",
        "StopSignal": "SIGTERM",
        "Labels": {"org.opencontainers.image.title": "dld", "org.opencontainers.image.version": VERSION},
    },
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    "history": [{"created": created, "created_by": "make image"}],
}
put("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
manifest = {
    "schemaVersion": 2,
    "mediaType": TYPE + "manifest.v1+json",
    "config": blob("config.v1+json", config),
    "layers": [blob("layer.v1.tar+gzip", gzip.compress(layer, mtime=0))],
}
name = {"org.opencontainers.image.ref.name": VERSION}
index = {"schemaVersion": 2, "manifests": [blob("manifest.v1+json", manifest, annotations=name)]}
put("index.json", json.dumps(index, indent=1).encode())
archive.close()
