"""Snapshots of PostgreSQL for pages, on a few separate read-only connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from arvis.store.postgres.errors import failure, with_options
from arvis.store.sql.session import PostgresDialect, Row, load_queries
from arvis.store.sql.snapshots import Snapshot

CONNECTIONS = 2

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_Connection = psycopg.AsyncConnection[DictRow]


class PostgresSnapshots:
    """`Snapshots` of one database; connections are opened when the first page needs them."""

    def __init__(self, url: str) -> None:
        self._url = with_options(url)
        self._queries = load_queries(PostgresDialect())
        self._idle: asyncio.LifoQueue[_Connection | None] = asyncio.LifoQueue()
        for _ in range(CONNECTIONS):
            self._idle.put_nowait(None)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        connection = await self._idle.get()
        try:
            connection = await self._begin(connection)
            try:
                yield _PostgresSnapshot(connection, self._queries)
            finally:
                await _leave(connection)
        except psycopg.Error as error:
            raise failure(error) from error
        finally:
            self._idle.put_nowait(connection)

    async def _begin(self, connection: _Connection | None) -> _Connection:
        """Yield a connection in a new snapshot. A connection that broke while idle is replaced: nothing was read from
        it yet."""
        if connection is not None and not connection.closed:
            try:
                await connection.execute(_BEGIN)
            except psycopg.Error:
                await connection.close()
            else:
                return connection
        connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True, row_factory=dict_row)
        await connection.execute(_BEGIN)
        return connection

    async def close(self) -> None:
        for _ in range(CONNECTIONS):
            connection = await self._idle.get()
            if connection is not None:
                await connection.close()


async def _leave(connection: _Connection) -> None:
    """A connection that cannot roll back is closed, and replaced when one is needed."""
    try:
        await connection.rollback()
    except psycopg.Error:
        await connection.close()


class _PostgresSnapshot:
    def __init__(self, connection: psycopg.AsyncConnection[DictRow], queries: Mapping[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        values = {name: value.value if isinstance(value, Enum) else value for name, value in parameters.items()}
        cursor = await self._connection.execute(self._queries[query].encode(), values)
        return await cursor.fetchall()
