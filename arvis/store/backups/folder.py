"""The folder of backups: its content, the names of new backups, which old ones are deleted, and when the next is due.

Except for the list, everything is decided by file names alone; a file that is not named as a backup is never touched.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from arvis.domain.errors import BackupDamaged
from arvis.ports.backups import BackupFile
from arvis.store.backups.archive import Manifest, read_manifest
from arvis.store.location import Database
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.session import read_only

_FORM = re.compile(r"arvis-(\d{8}T\d{6}Z)(?:-before-(\w+))?\.tar\.gz", re.ASCII)
_STAMP = "%Y%m%dT%H%M%SZ"
_SECOND_MS = 1000


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A backup by its name: made `at` (ms, to the second), before the migration `before` if any."""

    at: int
    path: Path
    before: str | None


def stamp(at: int) -> str:
    """Return a time in ms as it appears in file names."""
    return datetime.fromtimestamp(at / _SECOND_MS, UTC).strftime(_STAMP)


def free_path(folder: Path, now: int, before: str | None) -> Path:
    """Return a name for a new backup that is unique even within one second."""
    kind = "" if before is None else f"-before-{before}"
    while (path := folder / f"arvis-{stamp(now)}{kind}.tar.gz").exists():
        now += _SECOND_MS
    return path


def list_backups(database: Database) -> list[BackupFile]:
    """Return the backups of the data folder, newest first."""
    return [_look_at(named) for named in reversed(_named(database.backups))]


def prune(database: Database, *, before_migrations: bool) -> None:
    """Remove all but the newest backups of one kind."""
    same = [named for named in _named(database.backups) if (named.before is not None) is before_migrations]
    for named in same[: -database.keep]:
        named.path.unlink(missing_ok=True)


def clear_halves(folder: Path) -> None:
    """Remove unfinished files that a crash left."""
    for part in folder.glob(".arvis-*.part*"):
        part.unlink(missing_ok=True)


def due_at(database: Database, every: int, now: int) -> int:
    """Return when the next backup is due: `every` ms after the newest, or after the database was created. A backup
    from the future, made with a wrong clock, does not count."""
    made = [named.at for named in _named(database.backups) if named.at <= now]
    return (max(made) if made else _installed_at(database, now)) + every


def described(path: Path, manifest: Manifest) -> BackupFile:
    return BackupFile(
        path=path,
        bytes=path.stat().st_size,
        created_at=manifest.created_at,
        before=manifest.before,
        messages=manifest.messages,
        missing=len(manifest.missing),
    )


def _named(folder: Path) -> list[Named]:
    """Oldest first."""
    forms = ((path, _FORM.fullmatch(path.name)) for path in folder.glob("arvis-*.tar.gz"))
    return sorted(Named(_read_stamp(form[1]), path, form[2]) for path, form in forms if form is not None)


def _read_stamp(text: str) -> int:
    return int(datetime.strptime(text, _STAMP).replace(tzinfo=UTC).timestamp()) * _SECOND_MS


def _look_at(named: Named) -> BackupFile:
    try:
        return described(named.path, read_manifest(named.path))
    except BackupDamaged:
        return BackupFile(named.path, named.path.stat().st_size, named.at, named.before, None)


def _installed_at(database: Database, now: int) -> int:
    """Return when the first migration ran; the current time if that is unknown."""
    try:
        with contextlib.closing(read_only(database.file)) as connection:
            oldest = connection.execute(load_queries(SqliteDialect())["schema_ages"]).fetchone()["oldest"]
    except (sqlite3.Error, UnicodeError):
        return now
    return int(oldest or now)
