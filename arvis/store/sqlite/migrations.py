"""Runs migrations on SQLite, on the writing connection before the store uses it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.errors import MigrationFailed
from arvis.domain.ids import encode, moment_of
from arvis.store.sql.migrations import Migration, UpgradeCheck, run_checked, upgrade_failed
from arvis.store.sql.session import Row, SqliteDialect, load_queries
from arvis.store.sqlite.errors import as_store_error, is_full
from arvis.store.sqlite.session import SqliteSession


class SqliteTarget:
    """`MigrationTarget` for SQLite. `now` is in ms."""

    def __init__(self, *, connection: sqlite3.Connection, now: int) -> None:
        self._connection = connection
        self._now = now
        self._queries = load_queries(SqliteDialect())

    def applied(self) -> dict[str, str]:
        self._connection.execute(self._queries["create_migrations"])
        rows = self._connection.execute(self._queries["applied_migrations"]).fetchall()
        return {row["name"]: row["checksum"] for row in rows}

    def apply(self, migrations: Sequence[Migration], check: UpgradeCheck) -> list[str]:
        candidate = _Candidate(connection=self._connection, now=self._now)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            run_checked(candidate, migrations, self._run, check, postgres=False)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise as_store_error(error) if is_full(error) else upgrade_failed(str(error)) from error
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        return [migration.name for migration in migrations]

    def _run(self, migration: Migration) -> None:
        try:
            for statement in migration.statements(postgres=False):
                self._connection.execute(statement)
            note = {"name": migration.name, "checksum": migration.checksum, "now": self._now}
            self._connection.execute(self._queries["add_migration"], note)
        except sqlite3.Error as error:
            if is_full(error):
                raise
            raise MigrationFailed(
                f"The migration {migration.name} did not run",
                why=str(error),
                fix="nothing was changed; report this error, or return to the previous version of Arvis",
            ) from error


class _Candidate:
    """`Candidate` on the writing connection."""

    def __init__(self, *, connection: sqlite3.Connection, now: int) -> None:
        # These ids are unique, because no other process creates ids in this database at the same time.
        ids = (encode(moment_of(now) + number) for number in itertools.count())
        self._connection = connection
        self._queries = load_queries(SqliteDialect())
        self.session = SqliteSession(connection=connection, new_id=lambda: next(ids))

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def rows_if_possible(self, query: str, /, **parameters: Any) -> Sequence[Row]:
        try:
            # The query must not run in the session, because the session remembers the columns of its queries.
            return [dict(row) for row in self._connection.execute(self._queries[query], parameters)]
        except sqlite3.OperationalError:
            return ()

    def row_counts(self) -> Mapping[str, int]:
        names = [row["name"] for row in self._connection.execute(self._queries["counted_tables"])]
        return {name: self._count(name) for name in names}

    def _count(self, table: str) -> int:
        # The name comes from SQLite's own list of tables.
        [(number,)] = self._connection.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608 - see above
        return int(number)
