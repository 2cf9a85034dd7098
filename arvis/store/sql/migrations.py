"""Runs migrations: numbered SQL files that change the schema, each in one transaction. There are no migrations back to
an older schema; for that, restore the backup that was made before the migration.

A file that is part of a release is never edited: its checksum is stored and compared. If a newer Arvis has migrated the
database, this version does not open the database, because it does not know the schema.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import arvis
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import MigrationFailed, SchemaTooNew

#: The comment before a statement that is only for one of the databases.
_ONLY = re.compile(r"-- only: (sqlite|postgres)")
_POSTGRES_WORDS = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "STRICT": "", ", WITHOUT ROWID": ""}


@dataclass(frozen=True, slots=True)
class Migration:
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self, *, postgres: bool) -> Iterator[str]:
        """Yield the statements for one of the databases. For PostgreSQL, a few DDL keywords are translated."""
        own = "postgres" if postgres else "sqlite"
        for database, statement in self._parts():
            if database in {"", own}:
                yield _for_postgres(statement) if postgres else statement

    def _parts(self) -> Iterator[tuple[str, str]]:
        """Yield each statement with the name of its database, which is "" if the statement is for both."""
        database, statement = "", ""
        for line in self.text.splitlines():
            if (only := _ONLY.fullmatch(line)) is not None:
                database = only[1]
            if not line.lstrip().startswith("--"):
                statement += line + "\n"
            if statement.strip() and sqlite3.complete_statement(statement):
                yield database, statement
                database, statement = "", ""
        if statement.strip():
            yield database, statement


class MigrationTarget(Protocol):
    """A database whose schema `migrate` changes."""

    def applied(self) -> dict[str, str]:
        """Return the checksums of the applied migrations by name. Create the table of migrations if it does not
        exist."""
        ...

    def snapshot(self, before: str) -> None:
        """Back up the database on SQLite; do nothing on PostgreSQL. `before` is the name of the next migration.
        `migrate` does not call this for a new database."""
        ...

    def apply(self, migration: Migration) -> bool:
        """Run a migration and record it, in one transaction. Return False if another process has already run it."""
        ...


def available() -> list[Migration]:
    """Return the migrations that this version of Arvis contains, in order."""
    package = Path(arvis.__file__).parent
    inside, beside = package / "_migrations", package.parent / "migrations"
    folder = inside if inside.is_dir() else beside
    return [Migration(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("[0-9]*.sql"))]


def migrate(target: MigrationTarget, migrations: Sequence[Migration]) -> list[str]:
    """Run the missing migrations and return their names."""
    applied = target.applied()
    missing = missing_among(migrations, applied)
    if missing and applied:
        target.snapshot(missing[0].name)
    return [migration.name for migration in missing if target.apply(migration)]


def missing_among(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """Return the migrations that have not run. `applied` contains the checksums of those that ran, by name. Raises
    `SchemaTooNew` or `MigrationFailed` if this version cannot use the database."""
    _check(applied, migrations)
    return [migration for migration in migrations if migration.name not in applied]


def _check(applied: Mapping[str, str], migrations: Sequence[Migration]) -> None:
    known = {migration.name: migration.checksum for migration in migrations}
    if unknown := sorted(applied.keys() - known.keys()):
        raise SchemaTooNew(
            "The database was written by a newer Arvis",
            why=f"it has the migration {unknown[-1]}, which this version does not know",
            fix="install that version again, or restore a backup that was made before (`arvis restore` lists them)",
        )
    for name, checksum in applied.items():
        if known[name] != checksum:
            raise MigrationFailed(
                f"The migration {name} differs from the migration that ran on this database",
                why="its file was changed after a release",
                fix="restore the file and put the change into a new migration",
            )


def _for_postgres(statement: str) -> str:
    return re.sub(
        r"\b(INTEGER|BLOB|STRICT)\b|, WITHOUT ROWID\b", lambda match: _POSTGRES_WORDS[match.group()], statement
    )
