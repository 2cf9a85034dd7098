"""The port for backups: files in the data folder that are made while the daemon runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError

#: The `kv` key of the time (ms) of the last restore. Times of schedules before the restore do not count as missed,
#: because their work ran with the replaced database.
RESTORED_AT = "restored_at"

#: The `kv` key of the address to which `arvis move` has moved the data. A daemon refuses to use this database.
MOVED_TO = "moved_to"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One backup. `created_at` in ms."""

    path: Path
    bytes: int
    created_at: int
    #: The migration before which the backup was made; None if the backup was made for another reason.
    before: str | None
    #: The number of messages in the backup; None if the backup cannot be read.
    messages: int | None
    #: The number of attachments whose bytes were lost before the backup.
    missing: int = 0
    encrypted: bool = False
    #: True if the backup was made elsewhere and uploaded.
    uploaded: bool = False


class RestoreState(StrEnum):
    REQUESTED = "requested"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """The last restore that was requested in the dashboard. `at` in ms."""

    state: RestoreState
    #: The file name of the backup.
    name: str
    at: int
    #: The number of messages in the restored database; None unless the restore is done.
    messages: int | None = None
    #: The folder with the replaced database; None if there was none.
    aside: str | None = None
    #: The text, the reason and the fix of the error of a failed restore.
    error: tuple[str, str, str] = ("", "", "")


class BackupWatch(Protocol):
    """The receiver of the results of backups. Its methods raise no errors."""

    async def made(self, backup: BackupFile) -> None: ...

    async def failed(self, error: ArvisError) -> None:
        """Report that a backup that was due could not be made."""
        ...


class Backups(Protocol):
    async def make(self) -> BackupFile:
        """Make a backup now, and return it when it is verified and on disk. Raise `Conflict` if the database is not
        SQLite, and `StoreError` if the backup failed. A failure leaves no unfinished file."""
        ...

    async def all(self) -> Sequence[BackupFile]:
        """Return the backups in the data folder, newest first."""
        ...

    async def path(self, name: str) -> Path:
        """Return the path of a backup in the data folder. Raise `NotFound` if there is no such backup."""
        ...

    async def receive(self, parts: AsyncIterator[bytes]) -> BackupFile:
        """Store a backup that was made elsewhere, and return it when it is verified. Raise `BackupDamaged`,
        `BackupLocked` or `DiskFull`, and every error of `parts`."""
        ...

    async def restore(self, name: str) -> RestoreOutcome:
        """Verify a backup, and restart the daemon, which then restores it. Raise `NotFound`, `BackupDamaged`,
        `BackupLocked`, and `Conflict` if the database is not SQLite."""
        ...

    async def last_restore(self) -> RestoreOutcome | None:
        """Return the last restore that was requested with `restore`."""
        ...
