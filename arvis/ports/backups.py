"""The port for backups: files in the data folder, made while the daemon works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

#: The key of the time (ms) of the last restore. Schedules that were due until then ran in the replaced database.
RESTORED_AT = "restored_at"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """`created_at` in ms; `before` names the migration before which it was made, if any; `messages` is the number of
    its messages (None: unreadable); `missing` counts attachments whose bytes were already lost."""

    path: Path
    bytes: int
    created_at: int
    before: str | None
    messages: int | None
    missing: int = 0


class Backups(Protocol):
    async def make(self) -> BackupFile:
        """Make a backup now and return it verified and on disk. Raises `Conflict` if the database is not on SQLite,
        `StoreError` if no backup could be made; then no unfinished file is left."""
        ...

    async def all(self) -> Sequence[BackupFile]:
        """Return the backups in the data folder, newest first."""
        ...
