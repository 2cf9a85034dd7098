"""The folders of the configuration whose files are documents of knowledge bases. Only the configuration can name such a
folder, so no request can make the daemon read another file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.domain.knowledge import ENDINGS, LARGEST_DOCUMENT, LONGEST_LOCATION, MOST_DOCUMENTS


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the configuration, the slug of its collection, and the interval of its checks in seconds."""

    path: Path
    collection: str
    every: float = 3_600.0


@dataclass(frozen=True, slots=True)
class Listed:
    """The documents of a folder: the stamp of each file by its location."""

    stamps: Mapping[str, str]
    #: The reason why the folder was not read completely, or "". Missing files then do not count as deleted.
    problem: str = ""


def files_of(folder: Folder) -> Listed:
    """Return the documents of a folder and its subfolders. Links, hidden files and files of unsupported kinds are left
    out."""
    stamps: dict[str, str] = {}
    try:
        for file in _walk(folder.path):
            if len(stamps) >= MOST_DOCUMENTS:
                return Listed(stamps, f"it has more than {MOST_DOCUMENTS:,} documents")
            status = file.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and len(str(file)) <= LONGEST_LOCATION and str(file).isprintable():
                stamps[str(file)] = f"{status.st_size}-{status.st_mtime_ns}"
    except OSError as error:
        return Listed({}, error.strerror or str(error))
    return Listed(stamps)


def _walk(root: Path) -> Iterator[Path]:
    """Yield the candidates in a folder, in the order of their names. Raise `OSError` if a folder cannot be read: its files
    must not count as deleted."""

    def failed(error: OSError) -> None:
        raise error

    for path, folders, names in os.walk(root, onerror=failed, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in ENDINGS:
                yield Path(path, name)


def read_file(folders: Sequence[Folder], location: str) -> bytes:
    """Return the bytes of a document in one of these folders, at most one byte more than the maximum size. Raise
    `OSError` if the file cannot be read, or if no folder contains it. Links are not followed."""
    path = Path(location)
    if ".." in path.parts or not any(path.is_relative_to(folder.path) for folder in folders):
        raise FileNotFoundError(2, "it is in no folder of the configuration")
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(22, "it is not a regular file")
        return file.read(LARGEST_DOCUMENT + 1)
