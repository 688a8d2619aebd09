"""What every contender of a workload is asked to do."""
import dataclasses
import pathlib


@dataclasses.dataclass
class Job:
    """Files to fetch, or one to send; a fetched file has the last part of its URL as its name."""

    #: (URL, where it goes); the paths are in one folder.
    pairs: list = dataclasses.field(default_factory=list)
    #: Transfers at one time.
    parallel: int = 1
    #: Connections for one file.
    connections: int = 1
    #: File of the authority that signed the server's certificate.
    authority: str = ""
    #: The file to send to `upload_url`, instead of `pairs`.
    source: pathlib.Path | None = None
    upload_url: str = ""

    @property
    def folder(self):
        return self.pairs[0][1].parent


def downloads(origin, names, folder, **more):
    return Job(pairs=[(f"{origin}/{name}", folder / name.rsplit("/", 1)[-1]) for name in names], **more)
