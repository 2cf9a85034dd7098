"""Snapshots of SQLite for pages: a few read-only aiosqlite connections, so that a slow page delays no message."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite

from arvis.store.sql.session import Row, SqliteDialect, load_queries
from arvis.store.sql.snapshots import Snapshot

CONNECTIONS = 2


class SqliteSnapshots:
    """`Snapshots` of one database file; connections are opened when the first page needs them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queries = load_queries(SqliteDialect())
        self._idle: asyncio.LifoQueue[aiosqlite.Connection | None] = asyncio.LifoQueue()
        for _ in range(CONNECTIONS):
            self._idle.put_nowait(None)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        connection = await self._idle.get()
        try:
            if connection is None:
                connection = await self._open()
            try:
                # Inside the block, because a reader that is cancelled here has still begun.
                await connection.execute("BEGIN")
                yield _SqliteSnapshot(connection, self._queries)
            finally:
                await connection.rollback()
        finally:
            self._idle.put_nowait(connection)

    async def close(self) -> None:
        for _ in range(CONNECTIONS):
            connection = await self._idle.get()
            if connection is not None:
                await connection.close()

    async def _open(self) -> aiosqlite.Connection:
        connection = await aiosqlite.connect(self._path, isolation_level=None)
        connection.row_factory = sqlite3.Row
        await connection.execute("PRAGMA query_only = ON")
        await connection.execute("PRAGMA busy_timeout = 5000")
        return connection


class _SqliteSnapshot:
    def __init__(self, connection: aiosqlite.Connection, queries: Mapping[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        return list(await self._connection.execute_fetchall(self._queries[query], parameters))
