"""The job that every contender of a workload gets."""
import dataclasses
import pathlib


@dataclasses.dataclass
class Job:
    """Files to fetch, or one file to send. The name of a fetched file is the last part of its URL."""

    #: (URL, destination) of each file. The destinations are in one folder.
    pairs: list = dataclasses.field(default_factory=list)
    #: Transfers at a time.
    parallel: int = 1
    #: Connections for one file.
    connections: int = 1
    #: The file with the authority that signed the server's certificate.
    authority: str = ""
    #: The file to send to `upload_url`; None if `pairs` are to be fetched.
    source: pathlib.Path | None = None
    upload_url: str = ""

    @property
    def folder(self):
        return self.pairs[0][1].parent


def downloads(origin, names, folder, **more):
    return Job(pairs=[(f"{origin}/{name}", folder / name.rsplit("/", 1)[-1]) for name in names], **more)
