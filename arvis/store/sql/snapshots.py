"""The interface of the reading side: named queries in one snapshot, and pages of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from arvis.ports.pages import Page
from arvis.store.sql.session import Row

T = TypeVar("T")

#: Sorts after every id, in every collation: the start of a list.
LAST = "Z" * 27


class Snapshot(Protocol):
    """Named queries in one snapshot of the database."""

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]: ...


class Snapshots(Protocol):
    """A reading side: SQLite by aiosqlite, PostgreSQL by psycopg."""

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]: ...

    async def close(self) -> None: ...


def page(rows: Sequence[Row], make: Callable[[Row], T], limit: int) -> Page[T]:
    """Return a page. The query reads one row more than the page holds, to detect a next page."""
    shown = rows[:limit]
    return Page([make(row) for row in shown], shown[-1]["id"] if len(rows) > limit else None)
