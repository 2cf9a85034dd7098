"""Runs migrations on SQLite, after a backup."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

from arvis.domain.errors import MigrationFailed
from arvis.store.sql.migrations import Migration
from arvis.store.sql.session import SqliteDialect, load_queries


class SqliteTarget:
    """`MigrationTarget` for SQLite, on the writing connection before the store uses it. `back_up` is called with the
    name of the next migration, but not for a new database. `now` is in ms."""

    def __init__(self, *, connection: sqlite3.Connection, now: int, back_up: Callable[[str], object]) -> None:
        self._connection = connection
        self._now = now
        self._back_up = back_up
        self._queries = load_queries(SqliteDialect())

    def applied(self) -> dict[str, str]:
        self._connection.execute(self._queries["create_migrations"])
        rows = self._connection.execute(self._queries["applied_migrations"]).fetchall()
        return {row["name"]: row["checksum"] for row in rows}

    def snapshot(self, before: str) -> None:
        self._back_up(before)

    def apply(self, migration: Migration) -> bool:
        with self._transaction(migration):
            for statement in migration.statements(postgres=False):
                self._connection.execute(statement)
            note = {"name": migration.name, "checksum": migration.checksum, "now": self._now}
            self._connection.execute(self._queries["add_migration"], note)
        return True

    @contextlib.contextmanager
    def _transaction(self, migration: Migration) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise MigrationFailed(
                f"The migration {migration.name} did not run",
                why=str(error),
                fix="nothing was changed; report this error, or return to the previous version of Arvis",
            ) from error
