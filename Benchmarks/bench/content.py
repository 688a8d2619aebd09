"""Files to transfer, and the proof that they arrived: nothing is measured that was not compared byte for byte."""
import hashlib
import os

from bench.measure import Failed

BLOCK = 1 << 20


def make_file(path, size):
    """Random bytes; random in blocks, so that no two blocks of a file are alike."""
    noise = os.urandom(BLOCK)
    with open(path, "wb") as file:
        for index in range(0, size, BLOCK):
            mark = index.to_bytes(8, "big")
            file.write((mark + noise[8:])[: min(BLOCK, size - index)])


def make_small_files(folder, count, size):
    """Names of `count` new files of `size` random bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{index:06d}" for index in range(count)]
    noise = os.urandom(size * 64)
    for index, name in enumerate(names):
        place = index * 61 % (len(noise) - size)
        (folder / name).write_bytes(noise[place : place + size - 8] + index.to_bytes(8, "big"))
    return names


def digest(path):
    with open(path, "rb") as file:
        return os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest()


class Expected:
    """Remembers digests of sources, so that each is read once."""

    def __init__(self):
        self.known = {}

    def check(self, source, copy):
        if source not in self.known:
            self.known[source] = digest(source)
        try:
            found = digest(copy)
        except FileNotFoundError:
            raise Failed(f"{copy.name} did not arrive") from None
        if found != self.known[source]:
            raise Failed(f"{copy.name} differs from what the server has: {found[0]} bytes")
