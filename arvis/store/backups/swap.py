"""Replaces the database with another one, and keeps the old files. If the process is killed or the power fails at any
moment, the result is either the old or the new database.

The new database is prepared in the folder to which the old one will be moved. Renaming the prepared file to
`restored.db` decides the exchange. Before the rename, nothing has changed. After the rename, this process or the next
one completes the exchange.
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
#: The key of the secrets in the new database, if it differs from the present one.
_KEY, _HALF_KEY = "restored.key", "restored.db.part-key"


@contextlib.contextmanager
def staging(database: Database, now: int) -> Iterator[Path]:
    """Yield the path at which the caller prepares the new database. If the block ends without an error, carry out the
    exchange. The folder of this path then contains the old database, if there was one. After an error, remove the
    prepared file."""
    for left in database.aside.glob("*"):
        _clear(left)
    stage = _new_folder(private_folder(database.aside), now)
    try:
        yield stage / _HALF
        if half_key(stage / _HALF).exists():
            half_key(stage / _HALF).replace(stage / _KEY)
        (stage / _HALF).replace(stage / _READY)
        sync_folder(stage)
    finally:
        _clear(stage)
    finish_restore(database)


def half_key(half: Path) -> Path:
    """Return the path at which the caller of `staging` prepares the key of the secrets in the database `half`."""
    return half.with_name(_HALF_KEY)


def put_prepared(database: Database, prepared: Path, now: int) -> None:
    """Replace the database by the complete file `prepared`, which no process has open. The file is on the same disk."""
    stage = _new_folder(private_folder(database.aside), now)
    prepared.replace(stage / _READY)
    sync_folder(stage)
    finish_restore(database)


def finish_restore(database: Database) -> None:
    """Complete an exchange that was decided and then interrupted. Every start calls this before it opens the
    database."""
    for ready in database.aside.glob(f"*/{_READY}"):
        _put_in_place(database, ready)


def _put_in_place(database: Database, ready: Path) -> None:
    """Move the old files to the separate folder, and the new database to its path. An interrupted call can be repeated.
    Move and sync the old files first, because SQLite would apply an old log to the new database."""
    stage, file, key = ready.parent, database.file, database.secrets_key
    if (stage / _KEY).exists():
        if key.exists():
            key.replace(stage / key.name)
        (stage / _KEY).replace(key)
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
    """Remove an unfinished database and its key, and then their folder if it is empty."""
    if (stage / _READY).exists():
        return
    for half in (*stage.glob(f"{_HALF}*"), *stage.glob(_KEY)):
        half.unlink()
    _remove_empty(stage)


def _remove_empty(folder: Path) -> None:
    """Remove the folder and its parent, each only if it is empty."""
    for each in (folder, folder.parent):
        with contextlib.suppress(OSError):
            each.rmdir()
