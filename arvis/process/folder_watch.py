"""Notices that the data folder was moved, removed or replaced under a running daemon.

Open files follow a folder that is renamed: the daemon would go on writing where no other program expects it, while a second
one could begin with an empty folder at the old path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from arvis.domain.errors import ConfigError

#: Seconds between two looks.
EVERY = 2.0

#: Device and inode.
_Identity = tuple[int, int]


class FolderWatch:
    """Remembers which files these paths led to at its making."""

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._folder = folder
        self._known = {file: _identity(file) for file in files}

    def lost(self) -> ConfigError | None:
        """Why the daemon must end; None while every path leads where it did."""
        for file, known in self._known.items():
            if _identity(file) != known:
                return ConfigError(
                    f"The data folder {self._folder} was moved, removed or replaced while Arvis ran",
                    why=f"{file.name} is not the file there that Arvis holds open.",
                    fix="Move the folder back, or start Arvis with --data and its new place.",
                )
        return None

    async def until_lost(self) -> ConfigError:
        while (lost := self.lost()) is None:  # noqa: ASYNC110 a renamed folder sends no event
            await asyncio.sleep(EVERY)
        return lost


def _identity(file: Path) -> _Identity | None:
    try:
        found = file.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
