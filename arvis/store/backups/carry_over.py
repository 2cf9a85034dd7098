"""Copies accepted web hook calls and idempotency keys from the replaced database into the restored one.

A client that repeats such a request, because it got no answer, gets the stored answer, and nothing is done a second
time.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arvis.store.blobs import sync_file
from arvis.store.location import Database
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.readonly import looking_at
from arvis.store.sqlite.session import connect

#: Queries that read the old database, and the queries that write the rows to the new one.
_CARRIED = {"accepted_hook_calls": "carry_hook_call", "accepted_keys": "carry_key"}


def carry_accepted(database: Database, half: Path) -> None:
    """Add to the database at `half` the calls and keys that the current database has accepted, as far as it is
    readable."""
    queries = load_queries(SqliteDialect())
    found = {name: _rows(database, queries[name]) for name in _CARRIED}
    if not any(found.values()):
        return
    with contextlib.closing(connect(half, writing=True)) as connection:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for name, rows in found.items():
                connection.executemany(queries[_CARRIED[name]], rows)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    sync_file(half)


def _rows(database: Database, query: str) -> Sequence[Mapping[str, Any]]:
    if not database.file.exists():
        return ()
    try:
        with looking_at(database.file, at_rest=True) as connection:
            return [dict(row) for row in connection.execute(query)]
    except (sqlite3.Error, UnicodeError, OSError):  # damaged, or older than these tables
        return ()
