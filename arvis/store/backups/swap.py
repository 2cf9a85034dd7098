"""Replaces the database with another one, and keeps the old files. If the process is killed or the power fails at any
moment, the result is either the old or the new database.

The new database is prepared in the folder to which the old one will be moved. The exchange is decided when the prepared
file is renamed to `restored.db`. Before the rename, nothing has changed. After the rename, this process or the next one
completes the exchange.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from arvis.store.backups.folder import stamp
from arvis.store.blobs import private_folder, sync_folder
from arvis.store.location import Database
from arvis.store.sqlite.checkpoint import kept_log, log_file, sums_file
from arvis.store.sqlite.wal import with_suffix

_READY, _HALF = "restored.db", "restored.db.part"


@contextlib.contextmanager
def staging(database: Database, now: int) -> Iterator[Path]:
    """Yield the path at which the caller prepares the new database. If the block ends without an error, carry out the
    exchange. Afterwards the folder of this path contains the old database, if there was one. After an error, remove the
    prepared file."""
    for left in database.aside.glob("*"):
        _clear(left)
    stage = _new_folder(private_folder(database.aside), now)
    try:
        yield stage / _HALF
        (stage / _HALF).replace(stage / _READY)
        sync_folder(stage)
    finally:
        _clear(stage)
    finish_restore(database)


def put_prepared(database: Database, prepared: Path, now: int) -> None:
    """Replace the database by the complete file `prepared`, which no process has open. The file is on the same disk."""
    stage = _new_folder(private_folder(database.aside), now)
    prepared.replace(stage / _READY)
    sync_folder(stage)
    finish_restore(database)


def finish_restore(database: Database) -> None:
    """Complete an exchange that was interrupted after it was decided. Every start calls this before it opens the
    database."""
    for ready in database.aside.glob(f"*/{_READY}"):
        _put_in_place(database.file, ready)


def _put_in_place(file: Path, ready: Path) -> None:
    """Move the old files away, and the new database to its path. If this function was interrupted, it can be called
    again. The old files are moved and synced first, because SQLite would apply an old log to the new database."""
    stage = ready.parent
    for old in (log_file(file), kept_log(file), with_suffix(file, "-shm"), sums_file(file), file):
        if old.exists():
            old.replace(stage / old.name)
    sync_folder(stage)
    sync_folder(file.parent)
    ready.replace(file)
    sync_folder(file.parent)
    sync_folder(stage)
    _remove_empty(stage)


def _new_folder(parent: Path, now: int) -> Path:
    """Create a folder with the time as its name. If the name is already used, use a later second."""
    while (folder := parent / stamp(now)).exists():
        now += 1000
    folder.mkdir(mode=0o700)
    sync_folder(parent)
    sync_folder(parent.parent)
    return folder


def _clear(stage: Path) -> None:
    """Remove an unfinished database, and then its folder if it is empty."""
    for half in stage.glob(f"{_HALF}*"):
        half.unlink()
    _remove_empty(stage)


def _remove_empty(folder: Path) -> None:
    """Remove the folder and its parent, each only if it is empty."""
    for each in (folder, folder.parent):
        with contextlib.suppress(OSError):
            each.rmdir()
