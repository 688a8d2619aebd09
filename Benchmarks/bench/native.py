"""Builds small C programs when they are needed: those of Benchmarks/native, or of another folder."""
import pathlib
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "native"
#: The libraries that are preloaded into other programs.
LIBRARIES = ["slowsync", "faults", "misdeeds"]


class Native:
    """`native("floor")` returns the path of the built program, and `native("slowsync")` that of the library to preload."""

    def __init__(self, folder, sources=SOURCES):
        self.folder = folder
        self.sources = sources
        self.built = {}

    def __call__(self, name):
        if name not in self.built:
            self.folder.mkdir(parents=True, exist_ok=True)
            shape = ["-shared", "-fPIC", "-ldl"] if name in LIBRARIES else []
            path = self.folder / name
            subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
                            "-o", str(path), str(self.sources / f"{name}.c"), *shape], check=True)
            self.built[name] = str(path)
        return self.built[name]
