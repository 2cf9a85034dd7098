"""The storage for a benchmark row: files in a folder, or our own PostgreSQL server. Each kind creates empty databases
and measures the minimum cost of a commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg.rows import dict_row

from arvis.process.clock import SystemClock
from arvis.store.open import Database, bring_up_to_date
from arvis.store.postgres.session import PostgresSession, Queries
from arvis.store.sql.session import IdMaker, Session
from arvis.store.sqlite.session import SqliteSession, connect
from bench.controls import PostgresCommits, RawCommits, SqliteCommits
from tests.parts import find
from tests.postgres import PostgresServer, running_postgres


class Place(Protocol):
    def fresh(self, name: str) -> Database:
        """Return an empty database."""
        ...

    def commits(self) -> AbstractContextManager[RawCommits]:
        """Return the control: one insert in each commit."""
        ...

    def plain(self, database: Database, new_id: IdMaker) -> AbstractContextManager[tuple[Session, Callable[[], None]]]:
        """Return a plain session in a transaction, and a function that commits this transaction and begins the next
        one."""
        ...


class Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fresh(self, name: str) -> Database:
        folder = self._folder / name
        folder.mkdir()
        return _migrated(Database(folder / "arvis.db", None, folder))

    @contextmanager
    def commits(self) -> Iterator[RawCommits]:
        with closing(sqlite3.connect(self._folder / "control.db", isolation_level=None)) as connection:
            yield SqliteCommits(connection)

    @contextmanager
    def plain(self, database: Database, new_id: IdMaker) -> Iterator[tuple[Session, Callable[[], None]]]:
        with closing(connect(database.file, writing=True)) as connection:
            # Under load the store makes its checkpoints as rarely as this.
            connection.execute("PRAGMA wal_autocheckpoint = 8000")

            def commit() -> None:
                connection.execute("COMMIT")
                connection.execute("BEGIN IMMEDIATE")

            connection.execute("BEGIN IMMEDIATE")
            yield SqliteSession(connection=connection, new_id=new_id), commit
            connection.execute("ROLLBACK")


class Postgres:
    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server = server
        self._folder = folder

    def fresh(self, name: str) -> Database:
        with psycopg.connect(self.server.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return _migrated(Database(self._folder / "none.db", self.server.url(name), self._folder))

    @contextmanager
    def commits(self, connections: int = 1) -> Iterator[RawCommits]:
        with PostgresCommits(self.server.url("postgres"), connections) as commits:
            yield commits

    @contextmanager
    def plain(self, database: Database, new_id: IdMaker) -> Iterator[tuple[Session, Callable[[], None]]]:
        assert database.url is not None
        with psycopg.connect(database.url, row_factory=dict_row) as connection:
            session = PostgresSession(connection=connection, queries=Queries(), new_id=new_id, name=new_id())
            yield session, connection.commit


@contextmanager
def postgres_in(folder: Path) -> Iterator[Postgres]:
    """Run a server whose commits wait for the disk, as in production. Raise `LookupError` if PostgreSQL is not
    installed."""
    initdb = find("initdb")
    if initdb is None:
        raise LookupError("needs PostgreSQL's server (Debian: apt-get install postgresql)")
    with running_postgres(initdb, durable=True) as server:
        yield Postgres(server, folder)


def _migrated(database: Database) -> Database:
    bring_up_to_date(database, SystemClock().now())
    return database
