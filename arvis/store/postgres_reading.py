"""Snapshots of PostgreSQL for pages: a few connections of their own, read-only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from arvis.store.session import PostgresDialect, Row, load_queries
from arvis.store.snapshots import Snapshot

CONNECTIONS = 2


class PostgresSnapshots:
    """`Snapshots` of one database; connections are opened when the first page needs them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._queries = load_queries(PostgresDialect())
        self._idle: asyncio.LifoQueue[psycopg.AsyncConnection[DictRow] | None] = asyncio.LifoQueue()
        for _ in range(CONNECTIONS):
            self._idle.put_nowait(None)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        connection = await self._idle.get()
        try:
            if connection is None or connection.closed:
                connection = await psycopg.AsyncConnection.connect(self._url, row_factory=dict_row)
                await connection.set_read_only(True)
                await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            try:
                yield _PostgresSnapshot(connection, self._queries)
            finally:
                if not connection.closed:
                    await connection.rollback()
        finally:
            self._idle.put_nowait(connection)

    async def close(self) -> None:
        for _ in range(CONNECTIONS):
            connection = await self._idle.get()
            if connection is not None:
                await connection.close()


class _PostgresSnapshot:
    def __init__(self, connection: psycopg.AsyncConnection[DictRow], queries: Mapping[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        values = {name: value.value if isinstance(value, Enum) else value for name, value in parameters.items()}
        cursor = await self._connection.execute(self._queries[query].encode(), values)
        return await cursor.fetchall()
