"""A conversation's folder as a whole: what lies in it, and taking it away."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: The most files that are listed. A program may have created any number of them.
_MOST_SEEN = 10_000
_DEEPEST = 32
_PRIVATE_FOLDER = 0o700


@dataclass(frozen=True, slots=True)
class Listed:
    """Paths and sizes (bytes) in the order of the paths; `more` is the number of further files."""

    files: tuple[tuple[str, int], ...] = ()
    more: int = 0

    @property
    def lines(self) -> list[str]:
        rest = [f"… and {self.more} more"] if self.more else []
        return [*(f"{path} ({size} bytes)" for path, size in self.files), *rest]


def list_files(workspace: Path, most: int) -> Listed:
    """The ordinary files of a folder and the folders in it; no link is followed, and one that is no folder is empty."""
    found: list[tuple[str, int]] = []
    for path, size in _walk(workspace):
        found.append((path, size))
        if len(found) == _MOST_SEEN:
            break
    found.sort()
    return Listed(tuple(found[:most]), max(len(found) - most, 0))


def remove_folder(folder: Path) -> None:
    """Take it away with all that is in it, and nothing that its links lead to. One that is not there is gone already.
    Raises `OSError`."""
    try:
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            folder.unlink()
            return
        try:
            shutil.rmtree(folder)
        except PermissionError:
            _open_up(folder)
            shutil.rmtree(folder)
    except FileNotFoundError:
        return


def _walk(workspace: Path) -> Iterator[tuple[str, int]]:
    """Walk by handles, so that a link that replaces an entry meanwhile leads nowhere else; a link in the folder's own
    place counts as empty."""
    with suppress(OSError):
        for folder, folders, names, handle in os.fwalk(workspace, follow_symlinks=False):
            place = os.path.relpath(folder, workspace)
            if place.count(os.sep) >= _DEEPEST:
                folders.clear()
            for name in names:
                path = name if place == "." else f"{place}/{name}"
                with suppress(OSError):
                    seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
                    if stat.S_ISREG(seen.st_mode) and path.isprintable():
                        yield path, seen.st_size


def _open_up(folder: Path) -> None:
    """A program may have made folders that their owner may not enter."""
    folder.chmod(_PRIVATE_FOLDER)
    for place, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(place, name)
            if not inner.is_symlink():
                inner.chmod(_PRIVATE_FOLDER)
