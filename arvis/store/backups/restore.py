"""Restore: a backup replaces the database, which is set aside and never deleted (reliability.md H24).

The new database is prepared completely before any file is replaced. No other process may have the old one open
meanwhile: the caller holds the lock of the data folder.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arvis.domain.errors import BackupDamaged, MigrationFailed, SchemaTooNew
from arvis.store.backups.archive import DATABASE, damaged, open_archive, reading, verify_archive
from arvis.store.backups.carry_over import carry_accepted
from arvis.store.backups.folder import list_backups
from arvis.store.backups.making import damage_in, refuse_server
from arvis.store.backups.settlement import Settlement, settle
from arvis.store.backups.swap import finish_restore, staging
from arvis.store.blobs import check_room, create_private, disk_trouble, sha256_of, sync_file
from arvis.store.location import Database
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.errors import as_store_error, is_full
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.readonly import looking_at
from arvis.store.sqlite.session import connect
from arvis.store.sqlite.wal import with_suffix

_LOG = "-wal"
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A backup that could not be used, and the reason."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore."""

    source: Path
    #: Everything after this time (ms) is missing; None: the file does not contain it.
    created_at: int | None
    #: The number of messages in the restored database.
    messages: int
    #: The number of messages in the replaced database; None: there was none, or it is unreadable.
    messages_before: int | None
    #: The replaced database.
    aside: Path | None
    #: The number of attachments without their bytes.
    missing: int
    given_up: Settlement
    passed_over: Sequence[PassedOver] = ()


def restore(database: Database, source: Path, now: int) -> Restored:
    """Replace the database by a backup, or by a plain SQLite file. `source` is checked completely before any file is
    changed. Raises `Conflict` for PostgreSQL, `NotFound`, `BackupDamaged`, `SchemaTooNew`, `DiskFull`."""
    refuse_server(database)
    with disk_trouble(f"{source} cannot be restored"):
        finish_restore(database)
        messages_before = _count_messages(database)
        with staging(database, now) as half:
            make_ready = _copy_plain if _is_plain(source) else _unpack
            ready = make_ready(database, source, half, now)
            carry_accepted(database, half)
    return Restored(
        source=source,
        created_at=ready.created_at,
        messages=ready.messages,
        messages_before=messages_before,
        aside=half.parent if half.parent.exists() else None,
        missing=sum(not database.blobs.path(sha256).exists() for sha256 in ready.blobs),
        given_up=ready.given_up,
    )


def restore_newest(database: Database, now: int) -> Restored | None:
    """Replace the database by the newest sound backup; the result names the backups that were passed over. Return
    None and change nothing if there is no sound backup."""
    passed_over = []
    for backup in list_backups(database):
        try:
            restored = restore(database, backup.path, now)
        except (BackupDamaged, SchemaTooNew, MigrationFailed) as error:
            passed_over.append(PassedOver(backup.path, error.why))
        else:
            return replace(restored, passed_over=tuple(passed_over))
    return None


# -- making ready ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ready:
    """A prepared database. `blobs` are the hashes that its attachments name."""

    created_at: int | None
    messages: int
    given_up: Settlement
    blobs: Sequence[str]


def _is_plain(source: Path) -> bool:
    with reading(source), source.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _unpack(database: Database, source: Path, half: Path, now: int) -> _Ready:
    """Unpack the database of a backup. Missing attachments are written to the blob folder, where they are unused
    until the database refers to them."""
    never = threading.Event()
    manifest = verify_archive(source, never)
    check_room(half.parent, 2 * sum(entry.bytes for entry in manifest.files.values()), "the restored database")
    ready = None
    with open_archive(source, never) as archive:
        for name, pieces in archive.files():
            if name == DATABASE:
                with create_private(half) as file:
                    file.writelines(pieces)
                ready = _make_ready(source, half, now)
            else:
                _add_blob(database, manifest.files[name].sha256, pieces)
    if ready is None:
        raise damaged(source, "it holds no database")
    return replace(ready, created_at=manifest.created_at)


def _add_blob(database: Database, sha256: str, pieces: Iterator[bytes]) -> None:
    path = database.blobs.path(sha256)
    if sha256_of(path, threading.Event()) != sha256:
        path.unlink(missing_ok=True)
        database.blobs.keep(b"".join(pieces))


def _copy_plain(_: Database, source: Path, half: Path, now: int) -> _Ready:
    """Copy a database with its log, if there is one beside it; neither is changed."""
    parts = {end: with_suffix(source, end) for end in ("", _LOG)}
    found = {end: part for end, part in parts.items() if part.exists()}
    check_room(half.parent, 2 * sum(part.stat().st_size for part in found.values()), "the restored database")
    for end, part in found.items():
        copy = with_suffix(half, end)
        create_private(copy).close()
        shutil.copyfile(part, copy)
    return _make_ready(source, half, now)


def _make_ready(source: Path, half: Path, now: int) -> _Ready:
    """Check it, migrate it, settle it; then it is one synced file without a log."""
    queries = load_queries(SqliteDialect())
    with _sound(source), contextlib.closing(connect(half, writing=True)) as connection:
        if damage := damage_in(connection):
            raise damaged(source, "; ".join(damage))
        target = SqliteTarget(connection=connection, now=now, back_up=lambda _: None)
        if not target.applied():
            raise damaged(source, "it is no database of Arvis")
        migrate(target, available())
        ready = _Ready(
            created_at=None,
            given_up=settle(connection, now),
            messages=connection.execute(queries["count_messages"]).fetchone()["number"],
            blobs=[row["sha256"] for row in connection.execute(queries["blobs_in_use"])],
        )
        # Closing also does it, but does not report a failure.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    sync_file(half)
    return ready


@contextlib.contextmanager
def _sound(source: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if is_full(error):
            raise as_store_error(error) from error
        raise damaged(source, str(error)) from error
    except UnicodeError as error:  # of a damaged name in a message of SQLite's own
        raise damaged(source, str(error)) from error


def _count_messages(database: Database) -> int | None:
    """Count the messages of the current database, as far as it is readable."""
    if not database.file.exists():
        return None
    try:
        with looking_at(database.file, at_rest=True) as connection:
            number: int = connection.execute(load_queries(SqliteDialect())["count_messages"]).fetchone()["number"]
    except (sqlite3.Error, UnicodeError, OSError):  # what is damaged may be the text of the error itself
        return None
    return number
