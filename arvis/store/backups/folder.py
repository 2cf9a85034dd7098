"""The folder of backups. This module lists the backups, names new ones, deletes old ones, and computes when the next
backup is due.

Only `list_backups` opens the backups. All other functions read only file names. Files that do not have the name of a
backup are never changed.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import BackupDamaged
from arvis.domain.regex import regex
from arvis.ports.backups import BackupFile
from arvis.store.backups.archive import read_summary
from arvis.store.backups.encryption import Summary
from arvis.store.location import Database
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.session import read_only

_FORM = regex(r"arvis-(\d{8}T\d{6}Z)(?:-before-(\w+)|-(uploaded))?\.tar\.gz(?:\.enc)?", re.ASCII)
_STAMP = "%Y%m%dT%H%M%SZ"
_SECOND_MS = 1000


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A backup, with the data that its file name contains."""

    #: The time of the backup in ms, without fractions of a second.
    at: int
    path: Path
    #: The migration before which the backup was made, or None.
    before: str | None
    #: True if the backup was made elsewhere.
    uploaded: bool

    @property
    def kind(self) -> tuple[bool, bool]:
        """Return the kind of the backup. `prune` counts the backups of each kind separately."""
        return self.before is not None, self.uploaded


def stamp(at: int) -> str:
    """Return a time (ms) as text for file names."""
    return datetime.fromtimestamp(at / _SECOND_MS, UTC).strftime(_STAMP)


def free_path(folder: Path, now: int, before: str | None, *, encrypted: bool, uploaded: bool = False) -> Path:
    """Return an unused path for a new backup. The file name contains the time `now`, or the next later second whose
    name is unused."""
    end = ".tar.gz.enc" if encrypted else ".tar.gz"
    kind = "-uploaded" if uploaded else "" if before is None else f"-before-{before}"
    while (path := folder / f"arvis-{stamp(now)}{kind}{end}").exists():
        now += _SECOND_MS
    return path


def list_backups(database: Database) -> list[BackupFile]:
    """Return the backups in the data folder, newest first."""
    return [_look_at(named) for named in reversed(_named(database.backups))]


def prune(database: Database, *, like: Path) -> None:
    """Delete the backups that have the same kind as `like` (before migrations, uploaded, or all others), except `like`
    itself and the newest `database.keep` ones."""
    named = _named(database.backups)
    kinds = {each.path: each.kind for each in named}
    same = [each for each in named if each.kind == kinds.get(like)]
    for each in same[: -database.keep]:
        if each.path != like:
            each.path.unlink(missing_ok=True)


def clear_halves(folder: Path) -> None:
    """Remove the unfinished files of backups that a crash interrupted."""
    for part in folder.glob(".arvis-*.part*"):
        part.unlink(missing_ok=True)


def due_at(database: Database, every: int, now: int) -> int:
    """Return the time (ms) of the next backup: `every` ms after the newest backup, or after the first migration if
    there is none. A backup from the future is ignored, because it was made with a wrong clock."""
    made = [named.at for named in _named(database.backups) if named.at <= now and not named.uploaded]
    return (max(made) if made else _installed_at(database, now)) + every


def described(path: Path, summary: Summary, *, encrypted: bool) -> BackupFile:
    return BackupFile(
        path=path,
        bytes=path.stat().st_size,
        created_at=summary.created_at,
        before=summary.before,
        messages=summary.messages,
        missing=summary.missing,
        encrypted=encrypted,
    )


def _named(folder: Path) -> list[Named]:
    """Return the backups in the folder, oldest first. Read only the names of the files."""
    forms = ((path, _FORM.fullmatch(path.name)) for path in folder.glob("arvis-*.tar.gz*"))
    return sorted(
        Named(_read_stamp(form[1]), path, form[2], form[3] is not None) for path, form in forms if form is not None
    )


def _read_stamp(text: str) -> int:
    return int(datetime.strptime(text, _STAMP).replace(tzinfo=UTC).timestamp()) * _SECOND_MS


def _look_at(named: Named) -> BackupFile:
    try:
        summary, encrypted = read_summary(named.path)
        return replace(described(named.path, summary, encrypted=encrypted), uploaded=named.uploaded)
    except BackupDamaged:
        return BackupFile(named.path, named.path.stat().st_size, named.at, named.before, None, uploaded=named.uploaded)


def _installed_at(database: Database, now: int) -> int:
    """Return the time (ms) of the first migration, or `now` if it cannot be read."""
    try:
        with contextlib.closing(read_only(database.file)) as connection:
            oldest = connection.execute(load_queries(SqliteDialect())["schema_ages"]).fetchone()["oldest"]
    except (sqlite3.Error, UnicodeError):
        return now
    return int(oldest or now)
