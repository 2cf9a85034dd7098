"""The port for backups: files in the data folder, made while the daemon works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

#: The setting that holds the time (ms) of the last restore: what was due until then has had its time in the life that is gone.
RESTORED_AT = "restored_at"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """`created_at` in ms; `before` names the migration that it was made before, if any; `messages` counts what it holds
    (None: it cannot be read); `missing` counts attachments whose bytes were lost before it was made."""

    path: Path
    bytes: int
    created_at: int
    before: str | None
    messages: int | None
    missing: int = 0


class Backups(Protocol):
    async def make(self) -> BackupFile:
        """A backup of this moment, verified and on the disk. Raises `Conflict` where the database is not Arvis's to back
        up, `StoreError` when none could be made; nothing half-made is left then."""
        ...

    async def all(self) -> Sequence[BackupFile]:
        """Those in the data folder, newest first."""
        ...
