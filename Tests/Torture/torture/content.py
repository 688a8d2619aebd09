"""The content that the servers send and receive: bytes that follow from a name, so that every process can recognize
them."""
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
