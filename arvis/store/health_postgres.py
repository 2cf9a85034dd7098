"""Reads the state of a PostgreSQL database for `arvis doctor`, in read-only transactions that wait only a short
time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg
from psycopg.rows import DictRow, dict_row

from arvis.domain.errors import StoreError
from arvis.store.health import RunQuery, Server
from arvis.store.sql.session import PostgresDialect, load_queries

#: The time limit (seconds) for opening a connection.
_CONNECT = 3

#: Settings without which the server may confirm a commit that a crash can still lose.
_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


def survey(url: str) -> tuple[dict[str, str], Server]:
    """Return the checksums of the migrations that ran, by migration name, and the version and unsafe settings of the
    server. Raise `StoreError` if the server cannot be read."""
    with _connected(url) as connection:
        unsafe = [name for name in _DURABLE if _setting(connection, name) == "off"]
        server = Server(connection.info.server_version, unsafe)
        if connection.execute("SELECT to_regclass('migrations') AS found").fetchall()[0]["found"] is None:
            return {}, server
        rows = connection.execute(load_queries(PostgresDialect())["applied_migrations"].encode()).fetchall()
        return {row["name"]: row["checksum"] for row in rows}, server


@contextlib.contextmanager
def query_runner(url: str) -> Iterator[RunQuery]:
    """Yield a function that runs named queries in one snapshot. Raise `StoreError` if the server cannot be read."""
    queries = load_queries(PostgresDialect())
    with _connected(url) as connection:
        yield lambda query, /, **parameters: connection.execute(queries[query].encode(), parameters).fetchall()


@contextlib.contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[DictRow]]:
    try:
        with psycopg.connect(url, row_factory=dict_row, connect_timeout=_CONNECT) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute("SET LOCAL statement_timeout = '2s'")
            connection.execute("SET LOCAL lock_timeout = '1s'")
            yield connection
    except psycopg.Error as error:
        why = str(error).strip()
        raise StoreError(
            "PostgreSQL cannot be read", why=why, fix="Check the setting `database`, and check that the server runs."
        ) from error


def _setting(connection: psycopg.Connection[DictRow], name: str) -> str:
    rows = connection.execute("SELECT current_setting(%s) AS value", (name,)).fetchall()
    return str(rows[0]["value"])
