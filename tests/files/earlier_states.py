"""Databases in every earlier state of the schema, with rows of every kind, on SQLite and PostgreSQL."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import psycopg
from psycopg import sql

from arvis.store.open import Database
from arvis.store.postgres.migrations import PostgresTarget
from arvis.store.sql.migrations import NoCheck, available, migrate
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import connect

KEPT = Path(__file__).parents[1] / "fixtures" / "databases"
NOW = 1_800_000_000_000
#: The numbers of all earlier states: that of state N has run the first N migrations.
STATES = range(1, len(available()))

#: The content of a database: its tables with their rows, in a fixed order.
Content = dict[str, list[str]]


def earlier(folder: Path, state: int) -> Database:
    """Create the database of a state in a new folder."""
    folder.mkdir(parents=True)
    kept, _ = _nearest(state)
    database = Database(Path(shutil.copy(kept, folder / "arvis.db")), None, folder)
    with contextlib.closing(connect(database.file, writing=True)) as connection:
        migrate(SqliteTarget(connection=connection, now=NOW - 1), available()[:state])
    return database


def earlier_on_postgres(url: str, state: int) -> None:
    """Fill an empty database with the rows of the nearest kept SQLite database, and migrate it to the state."""
    kept, number = _nearest(state)
    target = PostgresTarget(url=url, now=NOW - 1)
    migrate(target, available()[:number])
    with contextlib.closing(sqlite3.connect(kept)) as source, psycopg.connect(url) as connection:
        # Without foreign keys, the order of the tables does not matter.
        connection.execute("SET session_replication_role = replica")
        for (table,) in connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'"
        ).fetchall():
            _copy(source, connection, table)
    target.apply(available()[number:state], NoCheck())


def content_of(database: Database) -> Content:
    """Return the content of a SQLite database. Read a copy of its files, as a killed process leaves them."""
    copy = database.folder / "content"
    copy.mkdir()
    for file in database.folder.glob("arvis.db*"):
        if file.name in {"arvis.db", "arvis.db-wal"}:
            shutil.copy(file, copy)
    with contextlib.closing(sqlite3.connect(copy / "arvis.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"')))
            for (name,) in connection.execute(
                "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
            ).fetchall()
            # These indexes store no texts.
            if name not in {"message_index", "knowledge_index"} and not name.startswith("sqlite_")
        }
    shutil.rmtree(copy)
    return found


def content_on_postgres(url: str) -> Content:
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            name: sorted(
                map(repr, connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))).fetchall())
            )
            for (name,) in tables
        }


def _nearest(state: int) -> tuple[Path, int]:
    """Return the newest kept database that is not newer than the state, and its number."""
    kept = [(path, int(path.stem)) for path in sorted(KEPT.glob("*.db")) if int(path.stem) <= state]
    return kept[-1]


def _copy(source: sqlite3.Connection, target: psycopg.Connection[tuple[object, ...]], table: str) -> None:
    # The number of a row is a column of the search index on PostgreSQL only.
    number = "rowid, " if table in {"fact_words", "fact_index"} else ""
    cursor = source.execute(f'SELECT {number}* FROM "{table}"')
    rows, columns = cursor.fetchall(), [column[0] for column in cursor.description]
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join([sql.Placeholder()] * len(columns)),
    )
    with target.cursor() as inserting:
        inserting.executemany(statement, rows)
