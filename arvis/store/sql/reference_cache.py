"""A cache of the results of queries on tables that seldom change.

A result is valid for a transaction if none of its tables has changed since the result was read, and none changes
between the beginning of the transaction and the use of the result. Each commit that changes one of these tables raises
the version of the table twice: before and after the commit. So a result that was read during the commit is not used
afterwards.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Hashable, Mapping
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

#: The tables whose query results may be cached.
TABLES = frozenset(
    {
        "account_cooldowns",
        "agent_state",
        "agents",
        "bindings",
        "client_channels",
        "clients",
        "compactions",
        "conversations",
        "delivery_incidents",
        "facts",
        "kv",
        "principals",
        "reactions",
        "token_calibrations",
        "waits",
        "workflow_triggers",
    }
)
#: The columns that almost every message changes. No cached result contains these columns, so a change of only these
#: columns does not invalidate results.
CHANGING_COLUMNS = {"conversations": frozenset({"turns", "last_message_at", "compact_after", "plan_after"})}
#: The maximum number of rows in all results together; a result without rows counts as one. The oldest result is dropped
#: first. A single result with more rows is not cached.
MOST_ROWS = 50_000
#: The answer of `get` if there is no valid result.
MISSING = object()

_WRITTEN = regex(r"\b(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE|DELETE\s+FROM)\s+(\w+)", re.IGNORECASE)
_UPDATED = regex(r"UPDATE\s+\w+\s+SET\s+(.*?)(?:\sWHERE\s|$)", re.IGNORECASE | re.DOTALL)
_ASSIGNED = regex(r"(\w+)\s*=")
#: The patterns of queries that read columns of `CHANGING_COLUMNS`.
_CHANGING = {table: regex(rf"\*|\b(?:{'|'.join(names)})\b") for table, names in CHANGING_COLUMNS.items()}
_READ = regex(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)


def written_tables(queries: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return the tables of `TABLES` that each query changes. Leave out queries that change none of them."""
    found = {name: _changed_by(text) for name, text in queries.items()}
    return {name: tables for name, tables in found.items() if tables}


def _changed_by(text: str) -> frozenset[str]:
    changes = [(each[1], text[each.start() :]) for each in _WRITTEN.finditer(text) if each[1] in TABLES]
    return frozenset(table for table, change in changes if not _changes_no_result(table, change))


def _changes_no_result(table: str, change: str) -> bool:
    updated = _UPDATED.match(change)
    return updated is not None and CHANGING_COLUMNS.get(table, frozenset()).issuperset(_ASSIGNED.findall(updated[1]))


def read_tables(text: str) -> frozenset[str]:
    """Return the tables that a query reads. Raise `ValueError` if the results of the query must not be cached."""
    tables = frozenset(_READ.findall(text))
    changing = [_CHANGING[table] for table in tables & CHANGING_COLUMNS.keys()]
    if not tables or tables - TABLES or _WRITTEN.search(text) or any(column.search(text) for column in changing):
        raise ValueError(f"the results of this query must not be cached: {text}")
    return tables


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that was computed from cached results."""

    value: Any
    #: The tables from which these results were read.
    tables: frozenset[str]


class ReferenceCache:
    """The cached results of one database, for all its connections in this process."""

    def __init__(self) -> None:
        #: The number of changes so far. A transaction uses the version at its beginning.
        self.version = 0
        self._changed = dict.fromkeys(TABLES, 0)
        self._results: dict[Hashable, tuple[int, Any]] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def change(self, tables: Collection[str]) -> None:
        """Record that a commit changes these tables. The writer calls this method before and after the commit."""
        if not tables:
            return
        self.version += 1
        for table in tables:
            self._changed[table] = self.version

    def get(self, key: Hashable, tables: Collection[str], seen: int) -> Any:
        """Return the result for a transaction that began at the version `seen`, or `MISSING`."""
        result = self._results.get(key)
        if result is None:
            return MISSING
        read, value = result
        changed = self._changed
        for table in tables:
            if changed[table] > read or changed[table] > seen:
                return MISSING
        return value

    def forget(self) -> None:
        """Drop all results from memory."""
        with self._lock:
            self._results.clear()
            self._rows = 0

    def computed(self, key: Hashable, seen: int) -> Computed | None:
        """Return the computed value for a transaction that began at the version `seen`, or None."""
        result = self._results.get(key)
        if result is None:
            return None
        value: Computed = result[1]
        return value if self.get(key, value.tables, seen) is value else None

    def put(self, key: Hashable, seen: int, value: Any) -> None:
        """Store a result that was read in a transaction that began at the version `seen`."""
        rows = _rows_of(value)
        with self._lock:
            self._drop(key)
            if rows > MOST_ROWS:
                return
            while self._rows + rows > MOST_ROWS:
                self._drop(next(iter(self._results)))
            self._results[key] = seen, value
            self._rows += rows

    def _drop(self, key: Hashable) -> None:
        dropped = self._results.pop(key, None)
        if dropped is not None:
            self._rows -= _rows_of(dropped[1])


def _rows_of(value: object) -> int:
    """Return the number of rows that a result counts: the length of a tuple, or of the attribute `rows`."""
    rows = value.value if isinstance(value, Computed) else value
    return max(1, len(rows if isinstance(rows, tuple) else getattr(rows, "rows", ())))
