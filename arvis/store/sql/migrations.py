"""Runs migrations: numbered SQL files that change the schema. All missing migrations and the checks of their result are
one transaction, so the data is always in the old or in the new state. No migration returns to an older schema; for
that, restore the backup that was made before the migration.

A file that is part of a release is never edited: its checksum is stored and compared. If a newer Arvis has migrated the
database, this version does not open the database, because it does not know the schema.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import arvis
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import MigrationFailed, SchemaTooNew, UpgradeFailed
from arvis.domain.regex import regex
from arvis.store.sql.session import Row, Session

#: The comment before a statement that is only for one of the databases.
_ONLY = regex(r"-- only: (sqlite|postgres)")
#: The comment that names the tables whose number of rows a migration changes.
_RECOUNTED = regex(r"^-- rows: (.+)$", re.MULTILINE)
#: The tables of `_RECOUNTED` for a migration that was released before this comment existed.
_RECOUNTED_EARLIER = {"0012_standard_names": frozenset({"settings"})}
_RENAMED = regex(r"\s*ALTER TABLE (\w+) RENAME TO (\w+)", re.IGNORECASE)
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

    @property
    def recounted(self) -> frozenset[str]:
        """Return the tables in which the migration adds or removes rows, including the tables that it drops. Each
        table has its name from before the migration."""
        named = {name.strip() for line in _RECOUNTED.findall(self.text) for name in line.split(",")}
        return _RECOUNTED_EARLIER.get(self.name, frozenset()) | named

    def renamed(self, *, postgres: bool) -> Mapping[str, str]:
        """Return the new names of the tables that the migration renames, by their old names."""
        found = (_RENAMED.match(statement) for statement in self.statements(postgres=postgres))
        return {match[1]: match[2] for match in found if match is not None}

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


class Candidate(Protocol):
    """A database in the transaction that upgrades it. The session reads and writes in this transaction."""

    @property
    def session(self) -> Session: ...

    def run(self, statement: str) -> None:
        """Run a statement without parameters and without a result, such as `SAVEPOINT`."""
        ...

    def rows_if_possible(self, query: str, /, **parameters: Any) -> Sequence[Row]:
        """Run a named query. Return no rows if the schema is too old for the query."""
        ...

    def row_counts(self) -> Mapping[str, int]:
        """Return the number of rows of each table, except the table of migrations and search indexes."""
        ...


class UpgradeCheck(Protocol):
    """A check of the upgraded data before the commit. Everything that it writes is rolled back."""

    def before(self, candidate: Candidate) -> None:
        """Read the data before the migrations."""
        ...

    def after(self, candidate: Candidate, ran: Sequence[Migration]) -> None:
        """Check the data after the migrations. Raise `UpgradeFailed` or another error to roll everything back."""
        ...


class NoCheck:
    """The `UpgradeCheck` that accepts everything."""

    def before(self, candidate: Candidate) -> None: ...

    def after(self, candidate: Candidate, ran: Sequence[Migration]) -> None: ...


class MigrationTarget(Protocol):
    """A database whose schema `migrate` changes."""

    def applied(self) -> dict[str, str]:
        """Return the checksums of the applied migrations by name. Create the table of migrations if it does not
        exist."""
        ...

    def apply(self, migrations: Sequence[Migration], check: UpgradeCheck) -> list[str]:
        """Run and record these migrations and the checks in one transaction. Return the names of the migrations. Skip
        the migrations that another process has already run."""
        ...


def available() -> list[Migration]:
    """Return the migrations that this version of Arvis contains, in order."""
    package = Path(arvis.__file__).parent
    inside, beside = package / "_migrations", package.parent / "migrations"
    folder = inside if inside.is_dir() else beside
    return [Migration(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("[0-9]*.sql"))]


def migrate(target: MigrationTarget, migrations: Sequence[Migration], check: UpgradeCheck | None = None) -> list[str]:
    """Run the missing migrations and return their names. Raise `SchemaTooNew`, `MigrationFailed` or `UpgradeFailed` if
    the upgrade fails. The database is then unchanged."""
    missing = missing_among(migrations, target.applied())
    return target.apply(missing, check or NoCheck()) if missing else []


def run_checked(
    candidate: Candidate,
    migrations: Sequence[Migration],
    run: Callable[[Migration], None],
    check: UpgradeCheck,
    *,
    postgres: bool,
) -> None:
    """Run the migrations with `run`, and check their result. A new database needs no check. The caller has begun a
    transaction, and rolls it back after an error."""
    before = candidate.row_counts()
    if before:
        with _undone(candidate):
            check.before(candidate)
    for migration in migrations:
        run(migration)
    if different := _different_counts(before, candidate.row_counts(), migrations, postgres=postgres):
        raise upgrade_failed(f"the migrations lost or added rows: {'; '.join(different)}")
    if before:
        with _undone(candidate):
            check.after(candidate, migrations)


def upgrade_failed(why: str) -> UpgradeFailed:
    return UpgradeFailed(
        "The data was not upgraded",
        why=f"{why}. The data is unchanged",
        fix="Install the previous version of Arvis again; it opens the data as before. Then report this error.",
    )


@contextmanager
def _undone(candidate: Candidate) -> Iterator[None]:
    """Roll back everything that the block writes."""
    candidate.run("SAVEPOINT upgrade_check")
    yield
    candidate.run("ROLLBACK TO SAVEPOINT upgrade_check")
    candidate.run("RELEASE SAVEPOINT upgrade_check")


def _different_counts(
    before: Mapping[str, int], after: Mapping[str, int], migrations: Sequence[Migration], *, postgres: bool
) -> list[str]:
    """Return a description of each table whose number of rows changed, unless a migration declares this change."""
    names = {table: table for table in before}
    for migration in migrations:
        renamed, recounted = migration.renamed(postgres=postgres), migration.recounted
        names = {table: renamed.get(name, name) for table, name in names.items() if name not in recounted}
    return [
        f"{name} has {after.get(name, 0)} rows instead of {before[table]}"
        for table, name in sorted(names.items())
        if after.get(name, 0) != before[table]
    ]


def missing_among(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """Return the migrations that have not run. `applied` contains the checksums of the migrations that ran, by name.
    Raise `SchemaTooNew` or `MigrationFailed` if this version cannot use the database."""
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
