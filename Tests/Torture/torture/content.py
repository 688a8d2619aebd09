"""What the servers give and get: bytes that follow from a name, so that any process can tell them from others."""
import functools
import hashlib
import random


@functools.lru_cache(maxsize=256)
def content(name, size):
    return random.Random(f"{name} {size}").randbytes(size)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
