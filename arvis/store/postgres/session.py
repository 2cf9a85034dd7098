"""Connections to PostgreSQL: sessions, which run transactions, and a few read-only connections with snapshots for
pages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import PastMessage
from arvis.store.postgres.errors import failure, with_options
from arvis.store.sql.full_text import PostgresFullText
from arvis.store.sql.session import IdMaker, Notices, PostgresDialect, Row, Snapshot, load_queries
from arvis.store.transaction import CommitUnknown

CONNECTIONS = 2

T = TypeVar("T")

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_Connection = psycopg.AsyncConnection[DictRow]


class PostgresSnapshots:
    """Implements `Snapshots` for one database. Each connection is opened when a page first needs it."""

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
        """Return a connection with a new snapshot. Replace a connection that broke while it was idle. This is safe,
        because nothing was read in the new snapshot yet."""
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
    """Roll back the transaction of the snapshot. If that fails, close the connection, which is then replaced at its
    next use."""
    try:
        await connection.rollback()
    except psycopg.Error:
        await connection.close()


class _PostgresSnapshot:
    full_text = PostgresFullText()

    def __init__(self, connection: psycopg.AsyncConnection[DictRow], queries: Mapping[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        values = {name: value.value if isinstance(value, Enum) else value for name, value in parameters.items()}
        cursor = await self._connection.execute(self._queries[query].encode(), values)
        return await cursor.fetchall()


#: The statement that writes a commit mark, followed by `COMMIT`. The values are inserted into the text, because only a
#: statement without parameters can be sent together with `COMMIT`.
_MARK_AND_COMMIT = (
    "INSERT INTO commit_marks (id, number, at)"
    " VALUES (%s, %d, CAST(extract(epoch FROM now()) * 1000 AS bigint))"
    " ON CONFLICT (id) DO UPDATE SET number = excluded.number, at = excluded.at; COMMIT"
)


class Queries:
    """The texts of the named queries for PostgreSQL. `writes` returns True if a query can change rows."""

    def __init__(self) -> None:
        texts = load_queries(PostgresDialect())
        self._texts = {name: text.encode() for name, text in texts.items()}
        self._reading = frozenset(name for name, text in texts.items() if text.lstrip()[:6].upper() == "SELECT")

    def __getitem__(self, name: str) -> bytes:
        return self._texts[name]

    def writes(self, name: str) -> bool:
        return name not in self._reading


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a commit. Each connection has a row `id` in the table `commit_marks`, and each commit writes its
    `number` into this row. So the row later shows whether the commit happened."""

    id: str
    number: int


class PostgresSession:
    """The session of one connection. `name` is the id of its commit marks; no other connection, not even of an earlier
    process, has the same name."""

    locks_rows = True
    full_text = PostgresFullText()

    def __init__(
        self, *, connection: psycopg.Connection[DictRow], queries: Queries, new_id: IdMaker, name: str
    ) -> None:
        self.connection = connection
        self._queries = queries
        self.new_id = new_id
        self.notices = Notices()
        self.mark = Mark(name, 0)
        self._literal = sql.Literal(name).as_string(connection)
        self._wrote = False

    def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        return self._run(query, parameters).fetchall()

    def one(self, query: str, **parameters: Any) -> Row | None:
        return self._run(query, parameters).fetchone()

    def execute_many(self, query: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        for each in parameters:
            self._run(query, each)

    def held(self, query: str, make: Callable[[Sequence[Row]], T], **parameters: Any) -> T:
        # Other processes change the tables, too, so nothing is cached.
        return make(self.rows(query, **parameters))

    def held_value(self, key: Hashable, make: Callable[[], T]) -> T:  # noqa: ARG002 - the port's signature
        return make()

    def holds(self, table: str) -> bool:  # noqa: ARG002 - the port's signature
        return False

    def held_history(self, key: Hashable) -> None:  # noqa: ARG002 - the port's signature
        return None

    def hold_history(self, key: Hashable, messages: Sequence[PastMessage]) -> None:
        """Do nothing, because other processes change the conversations, too."""

    def execute(self, query: str, **parameters: Any) -> int:
        return self._run(query, parameters).rowcount

    def vacuum(self) -> None:
        """Vacuum the tables of this schema. Other transactions can read and write at the same time."""
        found = self.connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        ).fetchall()
        for row in found:
            self.connection.execute(sql.SQL("VACUUM {}").format(sql.Identifier(row["tablename"])), prepare=False)

    def begin(self, how: str = "") -> None:
        self._wrote = False
        self.connection.execute(f"BEGIN {how}".encode(), prepare=False)

    def commit(self) -> None:
        """Commit. Raise `CommitUnknown` if the connection broke before the server answered. `was_committed(mark)` can
        then find out whether the commit happened."""
        if not self._wrote:
            self.connection.rollback()
            return
        self.mark = Mark(self.mark.id, self.mark.number + 1)
        ending = _MARK_AND_COMMIT % (self._literal, self.mark.number)
        try:
            self.connection.execute(ending.encode(), prepare=False)
        except psycopg.Error as error:
            if self.connection.closed:
                raise CommitUnknown from error
            raise

    def leave(self) -> bool:
        """Roll back the open transaction. If that fails, close the connection and return False."""
        try:
            self.connection.rollback()
        except psycopg.Error:
            self.connection.close()
        return not self.connection.closed

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self.connection.close()

    def was_committed(self, mark: Mark) -> bool:
        """Return True if the commit with this mark, made on another connection, happened. Wait up to a second for a
        commit that has not ended, then raise `psycopg.errors.LockNotAvailable`."""
        self.begin()
        try:
            self.connection.execute("SET LOCAL lock_timeout = '1s'", prepare=False)
            self.execute("add_commit_mark", id=mark.id)
            row = self.one("commit_mark", id=mark.id)
        finally:
            self.leave()
        return row is not None and row["number"] == mark.number

    def _run(self, query: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[DictRow]:
        values = {name: value.value if isinstance(value, Enum) else value for name, value in parameters.items()}
        self._wrote = self._wrote or self._queries.writes(query)
        return self.connection.execute(self._queries[query], values)


def connect(url: str, queries: Queries, new_id: IdMaker, name: str) -> PostgresSession:
    """Open a connection, delete the commit marks that are older than a week, and return a session."""
    connection = psycopg.connect(url, autocommit=True, row_factory=dict_row)
    try:
        connection.execute(queries["prune_commit_marks"])
    except psycopg.Error:
        connection.close()
        raise
    return PostgresSession(connection=connection, queries=queries, new_id=new_id, name=name)
