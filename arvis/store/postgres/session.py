"""One writing connection: explicit transactions, and commits whose outcome can be looked up later.

If a connection breaks during a commit, the outcome is unknown. So each commit writes a mark, in the same transaction
and the same round trip: a number that only this connection writes. After a reconnect the number tells whether the
commit happened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from arvis.store.sql.scripts import CommitUnknown
from arvis.store.sql.session import IdMaker, Notices, PostgresDialect, Row, load_queries

#: A literal and a number are inserted into the text: only a statement without parameters can be sent together with
#: its `COMMIT`.
_MARK_AND_COMMIT = (
    "INSERT INTO commit_marks (id, number, at)"
    " VALUES (%s, %d, CAST(extract(epoch FROM now()) * 1000 AS bigint))"
    " ON CONFLICT (id) DO UPDATE SET number = excluded.number, at = excluded.at; COMMIT"
)


class Queries:
    """The named queries of this database, and the set of read-only ones."""

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
    """The number that a commit wrote, if it happened. `id` names the connection."""

    id: str
    number: int


class PostgresSession:
    """The session of one connection. `name` is unique among all connections of all times."""

    locks_rows = True

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

    def execute(self, query: str, **parameters: Any) -> int:
        return self._run(query, parameters).rowcount

    def begin(self, how: str = "") -> None:
        self._wrote = False
        self.connection.execute(f"BEGIN {how}".encode(), prepare=False)

    def commit(self) -> None:
        """Commit. Raises `CommitUnknown` if the connection broke before the server's answer; `mark` then identifies
        the commit."""
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
        """Roll back the open transaction. Return False if the connection is unusable; it is closed then."""
        try:
            self.connection.rollback()
        except psycopg.Error:
            self.connection.close()
        return not self.connection.closed

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self.connection.close()

    def was_committed(self, mark: Mark) -> bool:
        """Return whether the commit of another connection happened. Waits briefly for a commit that is still under
        way, and raises `psycopg.errors.LockNotAvailable` if it does not end."""
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


def connect(url: str, queries: Queries, new_id: IdMaker, name: Callable[[], str]) -> PostgresSession:
    """Return a session over a new connection. Removes marks of connections that ended long ago."""
    connection = psycopg.connect(url, autocommit=True, row_factory=dict_row)
    try:
        connection.execute(queries["prune_commit_marks"])
    except psycopg.Error:
        connection.close()
        raise
    return PostgresSession(connection=connection, queries=queries, new_id=new_id, name=name())
