"""Runs migrations on PostgreSQL. A failed migration is rolled back. No backup is made; `arvis doctor` recommends a
dump."""

from __future__ import annotations

import contextlib

import psycopg
from psycopg.rows import dict_row

from arvis.domain.errors import MigrationFailed, StoreError
from arvis.store.postgres.errors import failure, is_away, refuses_for_good, unreachable, with_options
from arvis.store.sql.migrations import Migration
from arvis.store.sql.session import PostgresDialect, load_queries

THERE_ALREADY = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject)


class PostgresTarget:
    """`MigrationTarget` for PostgreSQL, which opens its own connections. `now` is in ms."""

    def __init__(self, *, url: str, now: int) -> None:
        self._url = with_options(url)
        self._now = now
        self._queries = {name: text.encode() for name, text in load_queries(PostgresDialect()).items()}

    def applied(self) -> dict[str, str]:
        try:
            with psycopg.connect(self._url, row_factory=dict_row, autocommit=True) as connection:
                # If two processes create the table at the same time, one of the processes gets an error in spite of IF
                # NOT EXISTS. The table then exists.
                with contextlib.suppress(*THERE_ALREADY):
                    connection.execute(self._queries["create_migrations"])
                rows = connection.execute(self._queries["applied_migrations"]).fetchall()
        except psycopg.Error as error:
            raise _refused_or_away(error) from error
        return {row["name"]: row["checksum"] for row in rows}

    def snapshot(self, before: str) -> None:
        """Do nothing: a failed migration is rolled back, and backups of PostgreSQL are the operator's task."""

    def apply(self, migration: Migration) -> bool:
        try:
            with psycopg.connect(self._url, row_factory=dict_row) as connection:
                connection.execute(self._queries["lock_migrations"])
                applied = connection.execute(self._queries["applied_migrations"]).fetchall()
                if migration.name in {row["name"] for row in applied}:
                    return False
                for statement in migration.statements(postgres=True):
                    connection.execute(statement.encode())
                note = {"name": migration.name, "checksum": migration.checksum, "now": self._now}
                connection.execute(self._queries["add_migration"], note)
                return True
        except psycopg.Error as error:
            if is_away(error):
                raise unreachable(error) from error
            raise MigrationFailed(
                f"The migration {migration.name} did not run",
                why=str(error),
                fix="nothing was changed; report this error, or return to the previous version of Arvis",
            ) from error


def _refused_or_away(error: psycopg.Error) -> StoreError:
    """Return the error for a failed connection. If the server refused the user, the password or the database, return an
    error that is not retried, because a retry would fail again."""
    if refuses_for_good(str(error)):
        fix = "check `database` in the configuration, and the users and databases of the server"
        return StoreError("PostgreSQL refuses the connection", why=str(error).strip(), fix=fix)
    return failure(error)
