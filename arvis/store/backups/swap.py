"""One database takes the place of another, which is put aside whole, across a kill or a power cut at any moment.

The new one is made ready in the folder that the old one is to be put into. From the moment at which it is called
`restored.db` the exchange holds, and whoever comes next completes it; until then nothing has happened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from arvis.store.backups.folder import stamp
from arvis.store.blobs import private_folder, sync_folder
from arvis.store.location import Database
from arvis.store.sqlite.checkpoint import kept_log, log_file
from arvis.store.sqlite.page_checksums import sums_file
from arvis.store.sqlite.wal import with_suffix

_READY, _HALF = "restored.db", "restored.db.part"


@contextlib.contextmanager
def staging(database: Database, now: int) -> Iterator[Path]:
    """Where the new database is to be made; when the block ends well, it holds, and is put in place. Nothing stays of a
    block that fails. The folder of this path is that of the old database afterwards, if there was one."""
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


def finish_restore(database: Database) -> None:
    """Complete an exchange that was interrupted after it held. Called at every start, before the database is looked
    at."""
    for ready in database.aside.glob(f"*/{_READY}"):
        _put_in_place(database.file, ready)


def _put_in_place(file: Path, ready: Path) -> None:
    """May be cut at any point and called again. What belongs to the old database leaves, synced, before the new one comes:
    it would be taken for that one's."""
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
    """Named after the time; a folder that is there already holds another database."""
    while (folder := parent / stamp(now)).exists():
        now += 1000
    folder.mkdir(mode=0o700)
    sync_folder(parent)
    sync_folder(parent.parent)
    return folder


def _clear(stage: Path) -> None:
    """Remove what was not made ready, and the folder if nothing was put into it."""
    for half in stage.glob(f"{_HALF}*"):
        half.unlink()
    _remove_empty(stage)


def _remove_empty(folder: Path) -> None:
    """The folder, and the one above, unless something is in them."""
    for each in (folder, folder.parent):
        with contextlib.suppress(OSError):
            each.rmdir()
