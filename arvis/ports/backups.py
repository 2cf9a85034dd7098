"""The port for backups: files in the data folder that are made while the daemon runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

#: The `kv` key with the time (ms) of the last restore. Times of schedules before it are not missed times: their work
#: ran with the database that the backup replaced.
RESTORED_AT = "restored_at"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One backup. `created_at` in ms. `before` is the migration before which the backup was made (None: it was made for
    another reason). `messages` is the number of messages in the backup (None: it cannot be read); `missing` counts the
    attachments whose bytes were lost before the backup."""

    path: Path
    bytes: int
    created_at: int
    before: str | None
    messages: int | None
    missing: int = 0


class Backups(Protocol):
    async def make(self) -> BackupFile:
        """Make a backup now; return it after it was verified and is on disk. Raises `Conflict` if the database is not
        SQLite, and `StoreError` if the backup failed. A failure leaves no unfinished file."""
        ...

    async def all(self) -> Sequence[BackupFile]:
        """Return the backups in the data folder, newest first."""
        ...
