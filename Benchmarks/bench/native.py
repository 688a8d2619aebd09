"""Builds the small C programs of Benchmarks/native where they are needed."""
import pathlib
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "native"


class Native:
    """`native("floor")` is the path of the built program, `native("slowsync")` that of the library to preload."""

    def __init__(self, folder):
        self.folder = folder
        self.built = {}

    def __call__(self, name):
        if name not in self.built:
            self.folder.mkdir(parents=True, exist_ok=True)
            shape = ["-shared", "-fPIC", "-ldl"] if name == "slowsync" else []
            path = self.folder / name
            subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
                            "-o", str(path), str(SOURCES / f"{name}.c"), *shape], check=True)
            self.built[name] = str(path)
        return self.built[name]
