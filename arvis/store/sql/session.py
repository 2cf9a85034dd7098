"""Named queries, and the interfaces that run them: sessions for transactions, and snapshots for pages. Repositories and
views use only these interfaces and the names of queries, so they work on both databases."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from arvis.domain.dataclass import dataclass
from arvis.domain.jobs import Begun, Pool
from arvis.domain.messages import Delivery, PastMessage
from arvis.domain.regex import regex
from arvis.domain.text import json_writer
from arvis.ports.pages import Page
from arvis.store.sql.full_text import FullText

T = TypeVar("T")


class Row(Protocol):
    """A row of either database, with values by column name."""

    def __getitem__(self, column: str, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...


_HEADER = regex(r"^-- name: (\w+)$", re.MULTILINE)
_PARAMETER = regex(r"(?<![:\w]):([a-z_]\w*)")
#: The SQL that returns the texts of a JSON list as rows with the column `value`.
_LIST = regex(r"json_each\((:\w+)\) AS (\w+)")


class Dialect(Protocol):
    """The SQL syntax of a database for parameters and row locks."""

    @property
    def name(self) -> str: ...

    def text(self, sql: str) -> str:
        """Return a query in the syntax of this database."""
        ...


@dataclass(frozen=True, slots=True)
class SqliteDialect:
    name: str = "sqlite"

    def text(self, sql: str) -> str:
        return sql


@dataclass(frozen=True, slots=True)
class PostgresDialect:
    name: str = "postgres"

    def text(self, sql: str) -> str:
        locked = sql.replace("/*lock*/", "FOR UPDATE SKIP LOCKED").replace("/*hold*/", "FOR UPDATE").replace("%", "%%")
        listed = _LIST.sub(r"json_array_elements_text(CAST(\1 AS json)) AS \2 (value)", locked)
        return _PARAMETER.sub(r"%(\1)s", listed)


@functools.cache
def load_queries(dialect: Dialect) -> Mapping[str, str]:
    """Return all named queries in the syntax of this database. Each process reads them once. A query in a file below
    `queries/<dialect>/` replaces the query of the same name."""
    folder = files("arvis.store") / "queries"
    texts = [entry for entry in sorted(folder.iterdir(), key=lambda e: e.name) if entry.name.endswith(".sql")]
    own = folder / dialect.name
    if own.is_dir():
        texts += sorted((e for e in own.iterdir() if e.name.endswith(".sql")), key=lambda e: e.name)
    queries: dict[str, str] = {}
    for text in texts:
        parts = _HEADER.split(text.read_text("utf-8"))[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            queries[name] = dialect.text(_without_comments(body))
    return queries


def _without_comments(body: str) -> str:
    lines = [line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("--")]
    return "\n".join(lines).rstrip(";")


@dataclass(slots=True)
class Notices:
    """The changes that a transaction reports to the queue after its commit."""

    #: The number of jobs at the heads of lanes that became ready to be claimed, and the pools in which jobs became
    #: ready.
    heads: int = 0
    pools: set[Pool] = field(default_factory=set)
    #: True if jobs must be claimed even if `heads` and `ended` are empty.
    look: bool = False
    #: The ids of the running jobs that ended.
    ended: list[str] = field(default_factory=list)
    #: The next time (ms) at which a waiting job becomes due, or None.
    due_at: int | None = None
    #: The deliveries that were stored as sent.
    sent: list[Delivery] = field(default_factory=list)
    #: The topics (`ChangeTopic`) of changed data that no event of the caller announces.
    topics: set[str] = field(default_factory=set)
    #: The executions that the transaction has added and not changed afterwards, by id.
    begun: dict[str, Begun] = field(default_factory=dict)

    @property
    def want_claim(self) -> bool:
        return self.look or self.heads > 0 or bool(self.ended)

    def ready(self, pools: Iterable[Pool], heads: int = 1) -> None:
        """Record that jobs at the heads of lanes became ready in these pools."""
        self.heads += heads
        self.pools.update(pools)

    def due(self, at: int) -> None:
        self.due_at = at if self.due_at is None else min(self.due_at, at)

    def mark(self) -> tuple[int, bool, int, int | None, int]:
        """Return the present state. If one script of a group is rolled back, `back_to` restores this state."""
        return self.heads, self.look, len(self.ended), self.due_at, len(self.sent)

    def back_to(self, mark: tuple[int, bool, int, int | None, int]) -> None:
        self.heads, self.look, ended, self.due_at, sent = mark
        del self.ended[ended:]
        del self.sent[sent:]
        self.begun.clear()

    def changed(self, values: Collection[object]) -> None:
        """Remove executions from `begun` that a statement may have changed, because `values` contains their id or the
        id of one of their messages."""
        for execution_id, begun in [*self.begun.items()]:
            if execution_id in values or any(message.id in values for message in begun.messages):
                del self.begun[execution_id]


class Session(Protocol):
    """The connection to the database during a transaction."""

    @property
    def locks_rows(self) -> bool:
        """True if other transactions write at the same time, so that the rows of lanes must be locked."""
        ...

    @property
    def full_text(self) -> FullText:
        """Return the syntax of the search index of messages."""
        ...

    def rows(self, query: str, **parameters: Any) -> Sequence[Row]: ...

    def one(self, query: str, **parameters: Any) -> Row | None: ...

    def execute(self, query: str, **parameters: Any) -> int:
        """Run a statement that returns no rows. Return the number of rows that it inserted, changed or deleted."""
        ...

    def execute_many(self, query: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement that returns no rows once with each of these parameters."""
        ...

    def held(self, query: str, make: Callable[[Sequence[Row]], T], **parameters: Any) -> T:
        """Return `make(rows)` for a query that only reads tables of `reference_cache.TABLES`. The result may be cached
        for later transactions. So it must be immutable, and `make` must be a module-level function."""
        ...

    def held_value(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`. The result may be cached if `make` runs queries only through `held`."""
        ...

    def holds(self, table: str) -> bool:
        """Return True if results of queries on this table may be cached in this transaction."""
        ...

    def held_history(self, key: Hashable) -> Sequence[PastMessage] | None:
        """Return the cached history for this key, which may lack the newest turns. Return None if no history is
        cached."""
        ...

    def hold_history(self, key: Hashable, messages: Sequence[PastMessage]) -> None:
        """Cache a history for later transactions, if this is possible."""
        ...

    notices: Notices

    def new_id(self) -> str: ...


def each(make: Callable[[Row], T]) -> Callable[[Sequence[Row]], tuple[T, ...]]:
    return lambda rows: tuple(map(make, rows))


def first(make: Callable[[Row], T]) -> Callable[[Sequence[Row]], T | None]:
    return lambda rows: make(rows[0]) if rows else None


#: Returns a value as compact JSON for storage, with its keys in their order. Raises `ValueError` for NaN.
dump = json_writer(allow_nan=False)


IdMaker = Callable[[], str]


#: A text that sorts after every id in every collation. It is the cursor for the first page of a list that is sorted
#: newest first.
LAST = "Z" * 27


class Snapshot(Protocol):
    """A snapshot of the database in which named queries run."""

    @property
    def full_text(self) -> FullText: ...

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]: ...


class Snapshots(Protocol):
    """A source of snapshots for pages, with a few separate connections."""

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]: ...

    async def close(self) -> None: ...


def page(rows: Sequence[Row], make: Callable[[Row], T], limit: int) -> Page[T]:
    """Return a page with the first `limit` rows. If there is a next page, `rows` must contain one more row."""
    shown = rows[:limit]
    return Page([make(row) for row in shown], shown[-1]["id"] if len(rows) > limit else None)
