"""Runs migrations on PostgreSQL. A failed upgrade is rolled back. No backup is made; `arvis doctor` recommends a dump."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from arvis.domain.errors import MigrationFailed, StoreError
from arvis.domain.ids import encode, moment_of
from arvis.ports.backups import MOVED_TO
from arvis.store.postgres.errors import AGAIN, failure, is_away, refuses_for_good, unreachable, with_options
from arvis.store.postgres.session import PostgresSession, Queries
from arvis.store.sql.migrations import Candidate, Migration, UpgradeCheck, run_checked, upgrade_failed
from arvis.store.sql.session import PostgresDialect, Row, load_queries

#: The number of attempts if other processes cause deadlocks.
_ATTEMPTS = 5
THERE_ALREADY = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject)


class PostgresTarget:
    """`MigrationTarget` for PostgreSQL, which opens its own connections. `now` is in ms."""

    def __init__(self, *, url: str, now: int) -> None:
        self._url = with_options(url)
        self._now = now
        self._queries = Queries()

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

    def apply(self, migrations: Sequence[Migration], check: UpgradeCheck) -> list[str]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._apply(migrations, check)
            except AGAIN as error:
                if attempt == _ATTEMPTS:
                    raise upgrade_failed(str(error).strip()) from error
            except psycopg.Error as error:
                raise (unreachable(error) if is_away(error) else upgrade_failed(str(error).strip())) from error
        raise AssertionError("the last attempt returns or raises")

    def rehearse(self, migrations: Sequence[Migration], check: UpgradeCheck) -> list[str]:
        """Do the same as `apply`, but roll everything back at the end."""
        with contextlib.suppress(_Rehearsed):
            self.apply(migrations, _RolledBack(check))
        return [migration.name for migration in migrations]

    def _apply(self, migrations: Sequence[Migration], check: UpgradeCheck) -> list[str]:
        with psycopg.connect(self._url, row_factory=dict_row) as connection:
            connection.execute(self._queries["lock_migrations"])
            applied = {row["name"] for row in connection.execute(self._queries["applied_migrations"]).fetchall()}
            missing = [migration for migration in migrations if migration.name not in applied]
            if missing:
                candidate = _Candidate(connection=connection, queries=self._queries, now=self._now)
                candidate.lock_tables()
                run_checked(candidate, missing, partial(self._run, connection), check, postgres=True)
            return [migration.name for migration in missing]

    def _run(self, connection: psycopg.Connection[DictRow], migration: Migration) -> None:
        try:
            for statement in migration.statements(postgres=True):
                connection.execute(statement.encode())
            note = {"name": migration.name, "checksum": migration.checksum, "now": self._now}
            connection.execute(self._queries["add_migration"], note)
        except psycopg.Error as error:
            if is_away(error):
                raise
            raise MigrationFailed(
                f"The migration {migration.name} did not run",
                why=str(error),
                fix="nothing was changed; report this error, or return to the previous version of Arvis",
            ) from error


def moved_to(url: str) -> str | None:
    """Return the address to which `arvis move` has moved the data of this database, or None."""
    query = load_queries(PostgresDialect())["get_key_value"].encode()
    try:
        with psycopg.connect(with_options(url), row_factory=dict_row) as connection:
            row = connection.execute(query, {"key": MOVED_TO}).fetchone()
    except psycopg.errors.UndefinedTable:  # a new database
        return None
    except psycopg.Error as error:
        raise _refused_or_away(error) from error
    return None if row is None else row["value"]


class _Candidate:
    """`Candidate` on one connection to the server."""

    def __init__(self, *, connection: psycopg.Connection[DictRow], queries: Queries, now: int) -> None:
        # Rows with these ids are rolled back, so the ids may be equal to ids of other processes.
        ids = (encode(moment_of(now) + number) for number in itertools.count())
        self._connection = connection
        self._queries = queries
        self.session = PostgresSession(connection=connection, queries=queries, new_id=lambda: next(ids), name="upgrade")

    def run(self, statement: str) -> None:
        self._connection.execute(statement.encode())

    def lock_tables(self) -> None:
        """Prevent other processes from writing until the end of the transaction. Otherwise their writes would change
        the numbers of rows that the check compares."""
        tables = [sql.Identifier(name) for name in self._tables()]
        if tables:
            statement = sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(sql.SQL(", ").join(tables))
            self._connection.execute(statement)

    def rows_if_possible(self, query: str, /, **parameters: Any) -> Sequence[Row]:
        self.run("SAVEPOINT query")
        try:
            return self.session.rows(query, **parameters)
        except psycopg.ProgrammingError:
            return ()
        finally:
            self.run("ROLLBACK TO SAVEPOINT query")

    def row_counts(self) -> Mapping[str, int]:
        return {name: self._count(name) for name in self._tables()}

    def _tables(self) -> Sequence[str]:
        return [row["name"] for row in self._connection.execute(self._queries["counted_tables"]).fetchall()]

    def _count(self, table: str) -> int:
        counting = sql.SQL("SELECT count(*) AS number FROM {}").format(sql.Identifier(table))
        return int(self._connection.execute(counting).fetchall()[0]["number"])


class _Rehearsed(Exception):
    """The end of a rehearsal, which rolls back its transaction."""


class _RolledBack:
    """An `UpgradeCheck` that raises `_Rehearsed` when another check has succeeded."""

    def __init__(self, check: UpgradeCheck) -> None:
        self.before = check.before
        self._check = check

    def after(self, candidate: Candidate, ran: Sequence[Migration]) -> None:
        self._check.after(candidate, ran)
        raise _Rehearsed


def _refused_or_away(error: psycopg.Error) -> StoreError:
    """Return the error for a failed connection. If the server refused the user, the password or the database, return an
    error that is not retried, because a retry would fail again."""
    if refuses_for_good(str(error)):
        fix = "check `database` in the configuration, and the users and databases of the server"
        return StoreError("PostgreSQL refuses the connection", why=str(error).strip(), fix=fix)
    return failure(error)
