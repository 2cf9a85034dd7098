"""A SQLite connection and the session over it (standard `sqlite3`, WAL, `synchronous=FULL`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arvis.domain.errors import DiskFull, StoreError
from arvis.store.session import IdMaker, Notices, Row


def connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    """A connection with the pragmas that the contract rests on; transactions are begun by hand."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA foreign_keys = ON")
    # Inside a writing transaction SQLite makes a file for every temporary table: 100 µs a claim, for some ids.
    connection.execute("PRAGMA temp_store = MEMORY")
    if writing:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        # The writer checkpoints between groups, never inside a commit that somebody waits for.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    else:
        connection.execute("PRAGMA query_only = ON")
    return connection


class SqliteSession:
    """The session of one connection; `notices` gathers what the open group did."""

    locks_rows = False

    def __init__(self, *, connection: sqlite3.Connection, queries: Mapping[str, str], new_id: IdMaker) -> None:
        self._connection = connection
        self._queries = queries
        self.new_id = new_id
        self.notices = Notices()

    def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        return self._connection.execute(self._queries[query], parameters).fetchall()

    def one(self, query: str, **parameters: Any) -> Row | None:
        # Read to the end: a statement that is left open keeps its transaction's snapshot.
        rows = self._connection.execute(self._queries[query], parameters).fetchall()
        return rows[0] if rows else None

    def execute(self, query: str, **parameters: Any) -> int:
        return self._connection.execute(self._queries[query], parameters).rowcount


def told(error: BaseException) -> BaseException:
    """A script's failure as its caller shall see it: what the database said becomes an error of ours."""
    if not isinstance(error, sqlite3.Error):
        return error
    match getattr(error, "sqlite_errorcode", None):
        case sqlite3.SQLITE_FULL:
            what, why, fix = "Nothing can be written", "the disk is full", "free some space; Arvis resumes by itself"
            return DiskFull(what, why=why, fix=fix)
        case sqlite3.SQLITE_BUSY:
            fix = "end the other program that writes to Arvis's database"
            return StoreError("The database is locked", why=str(error), fix=fix)
    return StoreError("The database refused a statement", why=str(error), fix="run `arvis doctor`")
