"""Repairs database files that do not match the state in which they were left (reliability.md H24).

A damaged database is set aside whole and the newest sound backup replaces it; of a damaged log the sound part is
kept. Nothing is ever deleted, and every repair is reported. A process that dies during a repair leaves a note, so
that the next one reports it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from arvis.domain.errors import StoreError
from arvis.store.backups.folder import stamp
from arvis.store.backups.restore import Restored, restore_newest
from arvis.store.backups.settlement import Settlement, settle
from arvis.store.backups.swap import finish_restore
from arvis.store.blobs import create_private, disk_trouble, private_folder, sync_file, sync_folder, write_whole
from arvis.store.integrity.check import Damaged, LogCut, Sound, examine, log_to_play
from arvis.store.integrity.report import cut_report, missing_messages, told_of_restore, write_report
from arvis.store.location import Database
from arvis.store.sql.migrations import available, migrate
from arvis.store.sqlite.checkpoint import kept_log, log_file, sealed
from arvis.store.sqlite.errors import store_errors
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.wal import link_or_copy, with_suffix


@dataclass(frozen=True, slots=True)
class Finding:
    """A message about the database for the log: `what` is a sentence, `report` is a text for people."""

    level: Literal["info", "warning", "error"]
    event: str
    what: str
    report: Path | None = None


def make_sound(database: Database, now: int) -> Finding | None:
    """Check and repair the database before any process opens it for writing. The caller holds the data folder. Raises
    `StoreError` if the database is damaged and there is no replacement."""
    if database.url is not None:
        return None
    with store_errors(), disk_trouble(f"The database {database.file} cannot be examined"):
        finish_restore(database)
        _clear(database)
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
    """Moving the database away is the way to start with an empty one; the message lists the backups in case this was
    not intended."""
    backups = [] if database.file.exists() else [*database.backups.glob("arvis-*.tar.gz")]
    if not backups:
        return None
    what = (
        f"there was none, so an empty one is begun; {len(backups)} backups are in {database.backups}: `arvis restore`"
    )
    return Finding("warning", "database_missing", what)


def workshop(database: Database) -> Path:
    """Return the folder in which logs are checked."""
    return database.folder / ".examination"


def _clear(database: Database) -> None:
    """Remove files that a process left when it died during a check: hard links, which keep the space of deleted files
    in use."""
    for left in (workshop(database), *database.folder.glob(".look-*")):
        shutil.rmtree(left, ignore_errors=True)


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
        f"The database {database.file} is damaged, and there is no sound backup to put in its place",
        why="; ".join(damage),
        fix="Restore a backup of your own with `arvis restore FILE`. If you trust the database all the same, "
        f"`arvis restore {database.file}` takes it as it is and gives up what was under way. Or move it away, with all "
        f"files called {database.file.name}-…, to begin with an empty one.",
        code="database_damaged",
    )


def _report_restore(database: Database, note: _Note, aside: Path | None, restored: Restored | None) -> Finding:
    report = None
    if aside is not None:
        file = aside / database.file.name
        missing = missing_messages(file, database.file)
        written = max((each.stat().st_mtime for each in aside.iterdir()), default=0.0)
        text = told_of_restore(
            note.damage, note.found_at, aside=file, missing=missing, restored=restored, written=int(written * 1000)
        )
        report = write_report(aside, text)
    _note_file(database).unlink()
    what = f"it was damaged ({'; '.join(note.damage)}) and set aside; the newest sound backup took its place"
    return Finding("error", "database_damaged", what, report)


# -- a damaged log -----------------------------------------------------------------------------------------


def _cut_log(database: Database, cut: LogCut, now: int) -> Finding:
    """Keep a copy, then continue with the sound part."""
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
    """The lost commits may have sent messages, so nothing old is sent again."""
    given_up = None if note.lost is None else _settle(database, now)
    text = cut_report(note.lost, note.found_at, given_up)
    report = write_report(private_folder(database.aside / note.folder), text)
    _note_file(database).unlink()
    if note.lost is None:
        what = "its log was damaged; the database already contained all of it, so nothing is missing"
        return Finding("warning", "log_damaged", what, report)
    what = f"its log was damaged, and its sound part was kept; missing: {note.lost}"
    return Finding("error", "log_damaged", what, report)


def _settle(database: Database, now: int) -> Settlement:
    with sealed(database.file) as connection:
        migrate(SqliteTarget(connection=connection, now=now, back_up=lambda _: None), available())
        return settle(connection, now)


def _free_name(database: Database, now: int) -> str:
    """The name contains the time; an existing folder holds something else."""
    while (database.aside / stamp(now)).exists():
        now += 1000
    return stamp(now)


# -- the note ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Note:
    """The repair under way since `found_at` (ms): of a database with this damage, or of a log that is copied to
    `folder` and lost the data described by `lost`."""

    found_at: int
    damage: Sequence[str]
    folder: str = ""
    lost: str | None = None


def _complete(database: Database, note: _Note, now: int) -> Finding | None:
    """All files are sound again, and the process that repaired them died before it could report it."""
    if note.folder:
        return _report_cut(database, note, now)
    # The file itself may have been missing: then its log or its checksums were set aside.
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
