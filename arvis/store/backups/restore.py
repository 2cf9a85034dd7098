"""Restores a backup: it replaces the database. The replaced database is moved to a separate folder and never deleted.

The new database is prepared completely before any file is replaced. The caller holds the lock of the data folder, so no
other process has the old database open.

A backup is a past state. Jobs that were waiting when it was made may have run since then in the replaced database, and
their results may have been sent. These jobs must not run twice. So before any process uses the restored database, they
fail with the reason `restored`. A person can retry them. Accepted webhook calls and idempotency keys are copied from
the replaced database, so that a client that repeats an old request gets the stored answer. Bots must not answer the
messages again that they received after the backup. So the read positions of bots are copied, too. If the replaced
database cannot be read, bots begin with new messages.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import BackupDamaged, BackupLocked, MigrationFailed, SchemaTooNew
from arvis.domain.executions import ExecutionStatus
from arvis.domain.ids import encode, moment_of
from arvis.domain.jobs import NewJob
from arvis.domain.messages import MessageStatus
from arvis.ports.backups import MOVED_TO, RESTORED_AT
from arvis.store.backups.archive import DATABASE, SECRETS, damaged, open_archive, reading, verify_archive
from arvis.store.backups.folder import list_backups
from arvis.store.backups.making import damage_in, files_in_use, refuse_server
from arvis.store.backups.swap import finish_restore, half_key, staging
from arvis.store.blobs import check_room, create_private, disk_trouble, sha256_of, sync_file
from arvis.store.location import Database
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import Row, SqliteDialect, load_queries
from arvis.store.sqlite.errors import as_store_error, is_full
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import SqliteSession, connect, looking_at
from arvis.store.sqlite.wal import with_suffix
from arvis.store.transaction import SqlTransaction

#: Each key is a query that reads the replaced database. Each value is the query that writes these rows into the
#: restored database.
_CARRIED = {
    "accepted_hook_calls": "carry_hook_call",
    "accepted_keys": "carry_key",
    "present_positions": "carry_position",
}


def carry_accepted(database: Database, half: Path) -> None:
    """Copy the accepted webhook calls, the idempotency keys and the read positions of bots from the present database
    to the database `half`, which will replace it. An unreadable table is skipped."""
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
    except (sqlite3.Error, UnicodeError, OSError):  # damaged, or too old to have these tables
        return ()


#: The reason code of the jobs and messages that fail because of a restore.
RESTORED = "restored"

_FAILED = "a backup was restored after this work began, so the work may have been done already"
_UNSURE = "a backup was restored after this delivery began, so it may have been sent already"


@dataclass(frozen=True, slots=True)
class Settlement:
    """The numbers of jobs, executions and deliveries that `settle` ended."""

    #: The number of jobs, of any kind.
    jobs: int
    #: The number of interrupted executions, such as turns and the executions that they called.
    executions: int
    #: The number of deliveries that got the state `unknown`.
    deliveries: int


def settle(connection: sqlite3.Connection, now: int) -> Settlement:
    """End the unfinished work of a restored database, in one transaction: fail the jobs, interrupt the executions, and
    mark unsent deliveries as unknown. Keep open questions to people, and timers that are not due."""
    # These ids are sortable and unique, because no other process creates ids in this database yet.
    ids = (encode(moment_of(now) + number) for number in itertools.count())
    session = SqliteSession(connection=connection, new_id=lambda: next(ids))
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
    session.execute("delete_key_value", key=MOVED_TO)
    tx.kv.put(RESTORED_AT, str(now), now)
    return Settlement(jobs, len(interrupted), deliveries)


def _interrupt(tx: SqlTransaction, row: Row, now: int) -> None:
    """Stop an execution at its current step. The execution continues when a person retries its job or answers its
    question. If it has no job, add a job that a person can retry."""
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
    """A backup that could not be restored, and the reason."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore."""

    source: Path
    #: The time (ms) at which the backup was made; later data is missing. None if `source` is a plain SQLite file.
    created_at: int | None
    #: The number of messages in the restored database.
    messages: int
    #: The number of messages in the replaced database, or None if it did not exist or is unreadable.
    messages_before: int | None
    #: The folder that contains the replaced database, or None if there was no database.
    aside: Path | None
    #: The number of attachments whose bytes are missing after the restore.
    missing: int
    given_up: Settlement
    passed_over: Sequence[PassedOver] = ()


def restore(database: Database, source: Path, now: int) -> Restored:
    """Replace the database by `source`, a backup or a plain SQLite file. Check `source` completely before any file is
    changed. Raise `Conflict` for PostgreSQL, and `NotFound`, `BackupDamaged`, `SchemaTooNew` or `DiskFull`."""
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
    """Replace the database by the newest backup that can be restored. The result lists the newer backups that cannot be
    restored (`passed_over`). Return None and change nothing if no backup can be restored."""
    passed_over = []
    for backup in list_backups(database):
        if backup.uploaded:  # perhaps from another installation
            continue
        try:
            restored = restore(database, backup.path, now)
        except (BackupDamaged, BackupLocked, SchemaTooNew, MigrationFailed) as error:
            passed_over.append(PassedOver(backup.path, error.why))
        else:
            return replace(restored, passed_over=tuple(passed_over))
    return None


# -- making ready ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ready:
    """A prepared database."""

    created_at: int | None
    messages: int
    given_up: Settlement
    #: The hashes of the attachments to which the messages refer.
    blobs: Sequence[str]


#: Arvis makes no triggers, views and generated columns.
_ADDED = """
SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')
UNION ALL SELECT 'generated column', m.name || '.' || c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c
WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL TABLE%' AND c.hidden IN (2, 3)
LIMIT 1
"""


def _is_plain(source: Path) -> bool:
    with reading(source), source.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _unpack(database: Database, source: Path, half: Path, now: int) -> _Ready:
    """Unpack the database of a backup to `half`. Write missing attachments directly to the blob folder. This is safe,
    because the present database does not use them."""
    never = threading.Event()
    manifest = verify_archive(source, never, database.passphrase)
    check_room(half.parent, 2 * sum(entry.bytes for entry in manifest.files.values()), "the restored database")
    ready = None
    with open_archive(source, never, database.passphrase) as archive:
        for name, pieces in archive.files():
            if name == DATABASE:
                with create_private(half) as file:
                    file.writelines(pieces)
                ready = _make_ready(source, half, now)
            elif name == SECRETS:
                if sha256_of(database.secrets_key, never) != manifest.files[name].sha256:
                    _write_key(half_key(half), pieces)
            else:
                sha256 = manifest.files[name].sha256
                path = database.blobs.path(sha256)
                if sha256_of(path, never) != sha256:
                    path.unlink(missing_ok=True)
                    database.blobs.keep(b"".join(pieces))
    if ready is None:
        raise damaged(source, "it contains no database")
    return replace(ready, created_at=manifest.created_at)


def _write_key(path: Path, pieces: Iterable[bytes]) -> None:
    with create_private(path) as file:
        file.writelines(pieces)
    sync_file(path)


def _copy_plain(_: Database, source: Path, half: Path, now: int) -> _Ready:
    """Copy a plain SQLite database and its write-ahead log, if there is one, to `half`. Do not change the original
    files."""
    parts = {end: with_suffix(source, end) for end in ("", _LOG)}
    found = {end: part for end, part in parts.items() if part.exists()}
    check_room(half.parent, 2 * sum(part.stat().st_size for part in found.values()), "the restored database")
    for end, part in found.items():
        copy = with_suffix(half, end)
        create_private(copy).close()
        shutil.copyfile(part, copy)
    return _make_ready(source, half, now)


def _make_ready(source: Path, half: Path, now: int) -> _Ready:
    """Check and migrate the copied database, and end the unfinished work in it (see `settle`). The result is one synced
    file without a write-ahead log."""
    queries = load_queries(SqliteDialect())
    with _sound(source), contextlib.closing(connect(half, writing=True)) as connection:
        if damage := damage_in(connection):
            raise damaged(source, "; ".join(damage))
        target = SqliteTarget(connection=connection, now=now)
        if not target.applied():
            raise damaged(source, "it is not an Arvis database")
        if added := connection.execute(_ADDED).fetchone():
            # A trigger would run statements of its author at later writes of the daemon.
            raise damaged(source, f"it contains the {added['type']} {added['name']}, which Arvis does not make")
        migrate(target, available())
        connection.execute(queries["forget_positions"])
        ready = _Ready(
            created_at=None,
            given_up=settle(connection, now),
            messages=connection.execute(queries["count_messages"]).fetchone()["number"],
            blobs=files_in_use(connection),
        )
        # Closing the connection would also write the log into the file, but would not report a failure.
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
    except UnicodeError as error:  # SQLite's error message may contain a damaged name that is not valid UTF-8
        raise damaged(source, str(error)) from error


def _count_messages(database: Database) -> int | None:
    """Return the number of messages in the present database, or None if it does not exist or is unreadable."""
    if not database.file.exists():
        return None
    try:
        with looking_at(database.file, at_rest=True) as connection:
            number: int = connection.execute(load_queries(SqliteDialect())["count_messages"]).fetchone()["number"]
    except (sqlite3.Error, UnicodeError, OSError):  # UnicodeError: SQLite's error message may contain damaged text
        return None
    return number
