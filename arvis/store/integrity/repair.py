"""Repairs database files that are not in the state in which Arvis left them, and reports every repair.

A damaged database is moved to a separate folder, and the newest intact backup replaces it. If only the write-ahead log
is damaged, its intact part is kept. No data is deleted. A report in the separate folder names the missing data and
explains how to undo the repair. A note on disk marks a repair that is not reported yet. If the process dies before the
report, the next process completes and reports the repair.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.store.backups.folder import stamp
from arvis.store.backups.restore import Restored, Settlement, restore_newest, settle
from arvis.store.backups.swap import finish_restore
from arvis.store.blobs import create_private, disk_trouble, private_folder, sync_file, sync_folder, write_whole
from arvis.store.integrity.check import Damaged, LogCut, Sound, examine, log_to_play
from arvis.store.location import Database
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.checkpoint import kept_log, log_file, sealed
from arvis.store.sqlite.errors import store_errors
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import looking_at
from arvis.store.sqlite.wal import link_or_copy, with_suffix

REPORT = "damage.txt"

_KEPT = "The database and the intact part of its log were kept. A copy of the damaged log is in this folder."
_NO_WAY_BACK = "If you find the file of the database again, stop Arvis and run: arvis restore FILE"
_WAY_BACK = "If you trust the damaged database more than the backup, stop Arvis and run:"


@dataclass(frozen=True, slots=True)
class Missing:
    """A summary of the messages of a damaged database that the restored database lacks."""

    number: int
    #: The times (ms) of the oldest and the newest missing message.
    oldest: int | None
    newest: int | None


def missing_messages(aside: Path, restored: Path) -> Missing | None:
    """Return a summary of the messages in the database `aside` that are newer than every message of the database
    `restored`. Return None if `aside` was deleted or is unreadable."""
    queries = load_queries(SqliteDialect())
    try:
        with looking_at(restored, at_rest=True) as connection:
            at = connection.execute(queries["newest_message"]).fetchone()["at"]
        with looking_at(aside, at_rest=True) as connection:
            return Missing(*connection.execute(queries["messages_after"], {"at": at}).fetchone())
    except (sqlite3.Error, UnicodeError, FileNotFoundError):
        return None


def write_report(folder: Path, text: str) -> Path:
    """Write the report into this folder and return its path. The report is on disk when this function returns."""
    path = folder / REPORT
    write_whole(path, text.encode())
    return path


def restore_report(
    damage: Sequence[str],
    found_at: int,
    *,
    aside: Path,
    missing: Missing | None,
    restored: Restored | None,
    written: int,
) -> str:
    """Return the report on a damaged database that a backup has replaced. `aside` is the path to which the damaged
    database was moved, and `written` the time (ms) of its last change. `restored` is None if a later process completed
    the restore, because that process does not know the backup."""
    way_back = [_WAY_BACK, f"arvis restore {aside.absolute()}"] if aside.exists() else [_NO_WAY_BACK]
    return _text(
        f"Arvis found its database damaged at {_time(found_at)}.",
        ("The damage", damage),
        ("What was done", [*_doings(aside, restored)]),
        ("What is missing", [_missing_text(missing, restored, written)]),
        ("How to undo this", way_back),
    )


def cut_report(lost: str | None, found_at: int, given_up: Settlement | None) -> str:
    """Return the report on a damaged write-ahead log whose intact part was kept. `given_up` counts the turns, jobs and
    deliveries that are not repeated automatically, because the lost commits may have recorded their end. It is None if
    no commit was lost."""
    return _text(
        f"Arvis found the write-ahead log of its database damaged at {_time(found_at)}.",
        ("What was done", [_KEPT, *([] if given_up is None else [_given_up_text(given_up)])]),
        ("What is missing", [lost or "Nothing: the database already contained all of it."]),
    )


def _text(beginning: str, *sections: tuple[str, Sequence[str]]) -> str:
    lines = [beginning]
    for title, body in sections:
        lines += ["", title, *(f"  {line}" for line in body)]
    return "\n".join(lines) + "\n"


def _doings(aside: Path, restored: Restored | None) -> Iterator[str]:
    if aside.exists():
        yield f"The damaged database was moved to: {aside.absolute()}"
    else:
        yield f"The remaining files of the database were moved to: {aside.parent.absolute()}"
    if restored is None:
        yield "The newest intact backup was restored."
        return
    of = "" if restored.created_at is None else f" of {_time(restored.created_at)}"
    yield f"The newest intact backup was restored: {restored.source.name}{of}, {restored.messages} messages."
    yield from (f"Skipped: {each.path.name} ({each.why})" for each in restored.passed_over)
    yield _given_up_text(restored.given_up)


def _given_up_text(given_up: Settlement) -> str:
    return (
        "Work that may already be done or sent is not repeated automatically: "
        f"{given_up.executions} executions, {given_up.jobs} jobs, {given_up.deliveries} deliveries. `arvis jobs list` shows them; you can retry each of them."
    )


def _missing_text(missing: Missing | None, restored: Restored | None, written: int) -> str:
    if missing is None:
        since = "" if restored is None or restored.created_at is None else f" of {_time(restored.created_at)}"
        return f"All data that was written after the backup{since}, up to {_time(written)}. It cannot be read any more."
    if not missing.number or missing.oldest is None or missing.newest is None:
        return "No message of the damaged database is newer than the messages of the backup."
    span = f"{_time(missing.oldest)} to {_time(missing.newest)}"
    return f"{missing.number} messages of the damaged database are newer than the backup: from {span}."


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@dataclass(frozen=True, slots=True)
class Finding:
    """An entry for the daemon's log about the result of the check."""

    level: Literal["info", "warning", "error"]
    event: str
    #: The text of the entry: one sentence.
    what: str
    #: The path of a report with details for people, or None.
    report: Path | None = None


def make_sound(database: Database, now: int) -> Finding | None:
    """Check and repair the database before any process opens it for writing. The caller holds the lock of the data
    folder. Return an entry for the daemon's log, or None if there is nothing to report. Raise `StoreError` if the
    database is damaged and no backup can replace it."""
    if database.url is not None:
        return None
    with store_errors(), disk_trouble(f"The database {database.file} cannot be examined"):
        finish_restore(database)
        # If a process dies during a check, hard links remain. They would keep the space of deleted files in use.
        for left in (workshop(database), *database.folder.glob(".look-*")):
            shutil.rmtree(left, ignore_errors=True)
        _give_back_log(database.file)
        match examine(database.file, workshop(database)):
            case Damaged(damage):
                return _replace(database, damage, now)
            case LogCut() as cut:
                return _cut_log(database, cut, now)
            case Sound(remark, warning):
                if (note := _read_note(database)) is not None:
                    return _complete(database, note, now)
                if remark is None:
                    return _begun_empty(database)
                return Finding("warning" if warning else "info", "database_examined", remark)


def _begun_empty(database: Database) -> Finding | None:
    """Return a warning if there are backups but no database file. A person may have removed the file to start with an
    empty database, but it may also be missing by mistake."""
    backups = [] if database.file.exists() else [*database.backups.glob("arvis-*.tar.gz")]
    if not backups:
        return None
    what = (
        f"the database file was missing, so Arvis created an empty database. There are {len(backups)} backups in "
        f"{database.backups}; `arvis restore` restores one"
    )
    return Finding("warning", "database_missing", what)


def workshop(database: Database) -> Path:
    """Return the path of the folder for the check's temporary files."""
    return database.folder / ".examination"


def _give_back_log(file: Path) -> None:
    log, kept = log_file(file), log_to_play(file)
    if kept != log:
        log.unlink(missing_ok=True)
        link_or_copy(kept, log)


# -- a damaged database ------------------------------------------------------------------------------------


def _replace(database: Database, damage: Sequence[str], now: int) -> Finding:
    note = _Note(found_at=now, damage=damage)
    _write_note(database, note)
    restored = restore_newest(database, now)
    if restored is None:
        _note_file(database).unlink()
        raise _nothing_to_restore(database, damage)
    return _report_restore(database, note, restored.aside, restored)


def _nothing_to_restore(database: Database, damage: Sequence[str]) -> StoreError:
    return StoreError(
        f"The database {database.file} is damaged, and there is no intact backup to replace it",
        why="; ".join(damage),
        fix="Restore a backup from another place with `arvis restore FILE`. To use the damaged database, run "
        f"`arvis restore {database.file}`, which ends all unfinished work. To start with an empty database, move this "
        f"file and all files called {database.file.name}-… to another folder.",
        code="database_damaged",
    )


def _report_restore(database: Database, note: _Note, aside: Path | None, restored: Restored | None) -> Finding:
    report = None
    if aside is not None:
        file = aside / database.file.name
        missing = missing_messages(file, database.file)
        written = max((each.stat().st_mtime for each in aside.iterdir()), default=0.0)
        text = restore_report(
            note.damage, note.found_at, aside=file, missing=missing, restored=restored, written=int(written * 1000)
        )
        report = write_report(aside, text)
    _note_file(database).unlink()
    what = f"the database was damaged ({'; '.join(note.damage)}), and Arvis restored the newest intact backup"
    return Finding("error", "database_damaged", what, report)


# -- a damaged log -----------------------------------------------------------------------------------------


def _cut_log(database: Database, cut: LogCut, now: int) -> Finding:
    """Copy the damaged log to the separate folder. SQLite continues to use the intact part of the log. If the log must
    not be applied (`superseded`), delete it."""
    note = _read_note(database)
    if note is None or not note.folder:
        note = _Note(found_at=now, damage=[], folder=_free_name(database, now), lost=cut.lost)
        _write_note(database, note)
    log, index = log_file(database.file), with_suffix(database.file, "-shm")
    _copy_aside(database, note, [file for file in (log, index) if file.exists()])
    if cut.superseded:
        for file in (log, kept_log(database.file), index):
            file.unlink(missing_ok=True)
        sync_folder(database.folder)
    return _report_cut(database, note, now)


def _copy_aside(database: Database, note: _Note, files: Sequence[Path]) -> None:
    folder = private_folder(database.aside / note.folder)
    for file in files:
        copy = folder / file.name
        create_private(copy).close()
        shutil.copyfile(file, copy)
        sync_file(copy)
    for changed in (folder, database.aside, database.folder):
        sync_folder(changed)


def _report_cut(database: Database, note: _Note, now: int) -> Finding:
    """Report a damaged log. If commits were lost, first end the unfinished work. The lost commits may have recorded
    that this work was done, and no work may be done twice."""
    given_up: Settlement | None = None
    if note.lost is not None:
        with sealed(database.file) as connection:
            migrate(SqliteTarget(connection=connection, now=now), available())
            given_up = settle(connection, now)
    text = cut_report(note.lost, note.found_at, given_up)
    report = write_report(private_folder(database.aside / note.folder), text)
    _note_file(database).unlink()
    if note.lost is None:
        what = "the log of the database was damaged, but the database already contained all of it: nothing is missing"
        return Finding("warning", "log_damaged", what, report)
    what = f"the log of the database was damaged; its intact part was kept, and this is missing: {note.lost}"
    return Finding("error", "log_damaged", what, report)


def _free_name(database: Database, now: int) -> str:
    """Return an unused folder name that contains the time."""
    while (database.aside / stamp(now)).exists():
        now += 1000
    return stamp(now)


# -- the note ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Note:
    """The note on disk about a repair that is not reported yet."""

    #: The time (ms) at which the repair began.
    found_at: int
    #: Descriptions of the damage to the database.
    damage: Sequence[str]
    #: The name of the folder to which the damaged log is copied. It is empty if a backup replaces the whole database.
    folder: str = ""
    #: A description of the commits that were lost with the log, or None.
    lost: str | None = None


def _complete(database: Database, note: _Note, now: int) -> Finding | None:
    """Finish and report a repair whose process has died. The caller has found all files intact."""
    if note.folder:
        return _report_cut(database, note, now)
    # All folders with a file of the database count. If the database file itself was missing, only its log or its
    # checksums were moved.
    later = {file.parent for file in database.aside.glob(f"*/{database.file.name}*")}
    if fresh := [folder for folder in later if folder.name >= stamp(note.found_at)]:
        return _report_restore(database, note, max(fresh), None)
    _note_file(database).unlink()
    return None


def _note_file(database: Database) -> Path:
    return with_suffix(database.file, "-damage")


def _write_note(database: Database, note: _Note) -> None:
    write_whole(_note_file(database), json.dumps(asdict(note)).encode())


def _read_note(database: Database) -> _Note | None:
    try:
        return _Note(**json.loads(_note_file(database).read_bytes()))
    except FileNotFoundError:
        return None
