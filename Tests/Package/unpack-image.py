"""Unpacks the image in an OCI archive into a folder, compares all digests, and prints the command that a container runs.

Usage: unpack-image.py ARCHIVE FOLDER
"""

import gzip
import hashlib
import io
import json
import shlex
import sys
import tarfile

archive = tarfile.open(sys.argv[1])


def blob(descriptor):
    content = archive.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()
    assert descriptor["digest"] == "sha256:" + hashlib.sha256(content).hexdigest() and descriptor["size"] == len(content)
    return content


assert json.load(archive.extractfile("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
(listed,) = json.load(archive.extractfile("index.json"))["manifests"]
manifest = json.loads(blob(listed))
image = json.loads(blob(manifest["config"]))
(layer,) = (gzip.decompress(blob(one)) for one in manifest["layers"])
assert image["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
tarfile.open(fileobj=io.BytesIO(layer)).extractall(sys.argv[2], numeric_owner=True)
uid, gid = image["config"]["User"].split(":")
print(shlex.join(
    ["/usr/bin/setpriv", "--reuid=" + uid, "--regid=" + gid, "--clear-groups", "/usr/bin/env", "-i", *image["config"]["Env"],
     *image["config"]["Entrypoint"]]))
