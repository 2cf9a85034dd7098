"""Restore: a backup replaces the database, which is set aside and never deleted.

The new database is prepared completely before any file is replaced. No other process may have the old one open
meanwhile: the caller holds the lock of the data folder.

Work under way in the backup is settled before any process uses it, so that nothing is done twice. A backup is a past
state: jobs that were waiting then have run since, in the replaced database, and their results may have been sent. So they
are neither repeated nor dropped: they fail with the reason `restored`, and a person can retry them. Accepted web hook
calls and idempotency keys are copied from the replaced database: a client that repeats such a request, because it got no
answer, gets the stored answer.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arvis.domain.errors import BackupDamaged, MigrationFailed, SchemaTooNew
from arvis.domain.executions import ExecutionStatus
from arvis.domain.ids import encode, moment_of
from arvis.domain.jobs import NewJob
from arvis.domain.messages import MessageStatus
from arvis.ports.backups import RESTORED_AT
from arvis.store.backups.archive import DATABASE, damaged, open_archive, reading, verify_archive
from arvis.store.backups.folder import list_backups
from arvis.store.backups.making import damage_in, refuse_server
from arvis.store.backups.swap import finish_restore, staging
from arvis.store.blobs import check_room, create_private, disk_trouble, sha256_of, sync_file
from arvis.store.location import Database
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import Row, SqliteDialect, load_queries
from arvis.store.sqlite.errors import as_store_error, is_full
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import SqliteSession, connect, looking_at
from arvis.store.sqlite.wal import with_suffix
from arvis.store.transaction import SqlTransaction

#: Queries that read the old database, and the queries that write the rows to the new one.
_CARRIED = {"accepted_hook_calls": "carry_hook_call", "accepted_keys": "carry_key"}


def carry_accepted(database: Database, half: Path) -> None:
    """Add to the database at `half` the calls and keys that the current database has accepted, as far as it is
    readable."""
    queries = load_queries(SqliteDialect())
    found = {name: _rows(database, queries[name]) for name in _CARRIED}
    if not any(found.values()):
        return
    with contextlib.closing(connect(half, writing=True)) as connection:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for name, rows in found.items():
                connection.executemany(queries[_CARRIED[name]], rows)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    sync_file(half)


def _rows(database: Database, query: str) -> Sequence[Mapping[str, Any]]:
    if not database.file.exists():
        return ()
    try:
        with looking_at(database.file, at_rest=True) as connection:
            return [dict(row) for row in connection.execute(query)]
    except (sqlite3.Error, UnicodeError, OSError):  # damaged, or older than these tables
        return ()


#: The reason code of settled jobs and messages.
RESTORED = "restored"

_FAILED = "a backup was restored after this work began, so the work may have been done already"
_UNSURE = "a backup was restored after this delivery began, so it may have been sent already"


@dataclass(frozen=True, slots=True)
class Settlement:
    """Counts of settled work: jobs of any kind, and of them the turns; deliveries with an unknown state."""

    jobs: int
    turns: int
    deliveries: int


def settle(connection: sqlite3.Connection, now: int) -> Settlement:
    """Settle the work under way, in one transaction. Questions to people and timers that are not due stay."""
    # Sortable and unique: no other process creates ids in this database before it is in place.
    ids = (encode(moment_of(now) + number) for number in itertools.count())
    session = SqliteSession(connection=connection, queries=load_queries(SqliteDialect()), new_id=lambda: next(ids))
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        return _settle(session, SqlTransaction(session), now)


def _settle(session: SqliteSession, tx: SqlTransaction, now: int) -> Settlement:
    deliveries = session.execute("mark_unsent_deliveries_unknown", error=_UNSURE, now=now)
    interrupted = session.rows("interrupted_executions", now=now)
    for row in interrupted:
        _interrupt(tx, row, now)
    jobs = session.execute("fail_live_jobs", error=_FAILED, reason=RESTORED, now=now)
    session.execute("empty_lanes")
    session.execute("raise_seqs", seq=now)
    session.execute("end_sessions")
    session.execute("drop_login_codes")
    tx.kv.put(RESTORED_AT, str(now), now)
    return Settlement(jobs, len(interrupted), deliveries)


def _interrupt(tx: SqlTransaction, row: Row, now: int) -> None:
    """Stop an execution at its current step. It continues when a person retries its job (it gets one if it has none)
    or answers its question."""
    execution = tx.executions.get(row["id"])
    if execution is None:
        return
    if not row["has_job"]:
        principal = execution.principal_id
        tx.jobs.add(NewJob.advance(execution.id, execution.lane, execution.priority, principal_id=principal), now)
    if row["asks"]:
        tx.executions.set_status(execution.id, ExecutionStatus.PAUSED, None, now)
        tx.messages.mark_turn(execution.id, MessageStatus.WAITING)
    else:
        tx.executions.set_status(execution.id, ExecutionStatus.FAILED, _FAILED, now)
        tx.messages.mark_turn(execution.id, MessageStatus.FAILED, RESTORED)


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
                sha256 = manifest.files[name].sha256
                path = database.blobs.path(sha256)
                if sha256_of(path, never) != sha256:
                    path.unlink(missing_ok=True)
                    database.blobs.keep(b"".join(pieces))
    if ready is None:
        raise damaged(source, "it holds no database")
    return replace(ready, created_at=manifest.created_at)


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
            raise damaged(source, "it is not an Arvis database")
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
