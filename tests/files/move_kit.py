"""Independent views of the data in a database, to compare what a move has copied."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping

import psycopg
from psycopg import sql

from arvis.store.open import Database

#: Tables that describe a database, its processes or its search index.
OWN = {
    "migrations",
    "role_leases",
    "commit_marks",
    "message_index",
    "message_index_state",
    "message_vocabulary",
    "embeddings",
    "knowledge_index",
    "knowledge_index_state",
    "knowledge_vocabulary",
}
Rows = list[tuple[object, ...]]


def rows_of(database: Database) -> Mapping[str, Rows]:
    """Return the sorted rows of every table with data, and the files of messages as rows of `blobs`."""
    found = _of_file(database) if database.url is None else _of_server(database.url)
    del found["kv"]
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def key_values(database: Database) -> dict[str, str]:
    """Return what the daemon stores for itself, without the times."""
    found = _of_file(database) if database.url is None else _of_server(database.url)
    return {str(key): str(value) for key, value, _ in found["kv"]}


def _of_file(database: Database) -> dict[str, Rows]:
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        listed = connection.execute("PRAGMA table_list").fetchall()
        names = [name for _, name, kind, *_ in listed if kind != "shadow" and not name.startswith("sqlite_")]
        found = {name: _rows(connection, name) for name in names if name not in OWN}
    files = [path for path in database.folder.glob("blobs/??/*") if path.is_file()]
    return {**found, "blobs": [(path.read_bytes(), path.parent.name + path.name) for path in files]}


def _rows(connection: sqlite3.Connection, name: str) -> Rows:
    first = "rowid, " if name == "fact_index" else ""
    cursor = connection.execute(f"SELECT {first}* FROM {name}")
    return _by_name([column[0] for column in cursor.description], cursor.fetchall())


def _of_server(url: str) -> dict[str, Rows]:
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        found = {}
        for (name,) in names:
            if name not in OWN:
                cursor = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)))
                found[name] = _by_name([column.name for column in cursor.description or ()], cursor.fetchall())
    return found


def _by_name(columns: list[str], rows: Rows) -> Rows:
    """Order the values by the names of their columns. The columns of the databases may have another order."""
    if columns == ["key", "value", "updated_at"]:
        return rows
    order = sorted(range(len(columns)), key=columns.__getitem__)
    return [tuple(row[place] for place in order) for row in rows]
