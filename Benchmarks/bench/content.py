"""Creates files to transfer, and checks that they arrived. Every measured file is compared byte for byte."""
import hashlib
import os

from bench.measure import Failed

BLOCK = 1 << 20


def make_file(path, size):
    """Makes a file of random bytes in which no two blocks are equal."""
    noise = os.urandom(BLOCK)
    with open(path, "wb") as file:
        for index in range(0, size, BLOCK):
            mark = index.to_bytes(8, "big")
            file.write((mark + noise[8:])[: min(BLOCK, size - index)])


def make_small_files(folder, count, size):
    """Makes `count` files of `size` random bytes, and returns their names."""
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
    """Keeps the digests of sources, so that each source is read once."""

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
            raise Failed(f"{copy.name} differs from the server's file: {found[0]} bytes")
