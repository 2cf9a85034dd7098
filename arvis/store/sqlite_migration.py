"""SQLite as a target of migrations, with the snapshot before them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from arvis.domain.errors import MigrationFailed
from arvis.store.migrations import Migration
from arvis.store.session import SqliteDialect, load_queries


class SqliteTarget:
    """`MigrationTarget` over the writing connection, before the writer owns it. `now` in ms."""

    def __init__(self, *, connection: sqlite3.Connection, backups: Path, now: int) -> None:
        self._connection = connection
        self._backups = backups
        self._now = now
        self._queries = load_queries(SqliteDialect())

    def applied(self) -> dict[str, str]:
        self._connection.execute(self._queries["create_migrations"])
        rows = self._connection.execute(self._queries["applied_migrations"]).fetchall()
        return {row["name"]: row["checksum"] for row in rows}

    def snapshot(self, before: str) -> None:
        self._backups.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.closing(sqlite3.connect(self._backups / f"before-{before}-{self._now}.db")) as copy:
            self._connection.backup(copy)

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
                fix="nothing was changed; report it, or go back to the version that ran before",
            ) from error
