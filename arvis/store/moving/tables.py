"""The tables that a move copies, the interfaces of source and target, and the comparison of their contents.

Both databases run the same migrations, so their tables have the same columns and keys. This module reads the columns
and keys from an empty SQLite database in memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.search import message_words
from arvis.ports.backups import MOVED_TO
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import Session
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import connect

#: The maximum number of rows that one transaction copies.
BATCH = 500

#: The `kv` key in an unfinished target. Its value is the name of the source.
UNFINISHED = "moving_from"

#: Tables that a move does not copy as rows. The target runs the migrations itself. Leases and marks belong to processes
#: and connections that have ended. The search indexes are built again, and vectors are computed again. On SQLite, blobs
#: are files.
NOT_COPIED = frozenset(
    {
        "migrations",
        "role_leases",
        "commit_marks",
        "message_index",
        "message_index_state",
        "message_vocabulary",
        "embeddings",
        "knowledge_index",
        "knowledge_index_state",
        "knowledge_vocabulary",
        "blobs",
    }
)
#: The number of batches of the search index that one transaction adds.
_BATCHES = 40
_TOTAL = 1 << 128

Row = tuple[int | str | None, ...]
#: The values of the primary key of a row.
Key = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, the columns of its primary key, and the columns that contain text."""

    name: str
    columns: Sequence[str]
    key: Sequence[str]
    texts: frozenset[str]
    #: The names of the tables to which its foreign keys refer.
    references: frozenset[str]

    @property
    def names(self) -> str:
        """Return the columns as a list in SQL."""
        return ", ".join(map(quoted, self.columns))

    @property
    def condition(self) -> str:
        """Return the SQL condition for the rows to copy. Two keys of `kv` are left out, because they describe the move
        itself."""
        return f"key NOT IN ('{UNFINISHED}', '{MOVED_TO}')" if self.name == "kv" else "1 = 1"


def quoted(name: str) -> str:
    return f'"{name}"'


@functools.cache
def tables() -> Sequence[Table]:
    """Return the tables to copy. Each table follows the tables to which it refers."""
    with contextlib.closing(connect(Path(":memory:"), writing=True)) as connection:
        migrate(SqliteTarget(connection=connection, now=0), available())
        listed = connection.execute("PRAGMA table_list").fetchall()
        names = sorted(row["name"] for row in listed if row["type"] in {"table", "virtual"} and row["schema"] == "main")
        copied = [name for name in names if name not in NOT_COPIED and not name.startswith("sqlite_")]
        return _ordered([_table(connection, name) for name in copied])


def _table(connection: sqlite3.Connection, name: str) -> Table:
    found = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    columns, key = [row["name"] for row in found], [row["name"] for row in found if row["pk"]]
    texts = frozenset(row["name"] for row in found if row["type"] == "TEXT")
    if not key:  # only the search index of facts has no key
        columns, key = ["rowid", *columns], ["rowid"]
    else:
        key.sort(key={row["name"]: row["pk"] for row in found}.__getitem__)
    foreign = connection.execute(f"PRAGMA foreign_key_list({quoted(name)})").fetchall()
    return Table(name, columns, key, texts, frozenset(row["table"] for row in foreign) - {name})


def _ordered(found: Sequence[Table]) -> Sequence[Table]:
    done: list[Table] = []
    while len(done) < len(found):
        names = {table.name for table in done}
        done += [table for table in found if table.name not in names and table.references <= names]
    return done


# -- the two sides -----------------------------------------------------------------------------------------


class Source(Protocol):
    """A database from which data is moved. It does not change while it is read."""

    def batches(self, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
        """Yield batches of the rows whose keys are greater than `after`, in the order of their keys. Texts are ordered
        by their bytes."""
        ...

    def blobs(self) -> Sequence[str]:
        """Return the names of all blobs."""
        ...

    def blob(self, sha256: str) -> bytes | None:
        """Return the content of a blob, or None if it is missing or does not match its name."""
        ...

    def mark_moved(self, target: str, now: int) -> None:
        """Record that the data was moved to `target`, and stop reading. A daemon then refuses to use this database."""
        ...


class Target(Protocol):
    """A copy that is being made. Processes cannot see it before `finish`."""

    @property
    def resumed(self) -> bool:
        """True if an earlier command began this copy."""
        ...

    def start_again(self) -> None:
        """Delete everything that was copied."""
        ...

    def last_key(self, table: Table) -> Key | None:
        """Return the greatest key of a table, or None if the table is empty."""
        ...

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows in one transaction."""
        ...

    def batches(self, table: Table, after: Key | None) -> Iterator[Sequence[Row]]: ...

    def blobs(self) -> Sequence[str]: ...

    def put_blob(self, data: bytes) -> None: ...

    def index_messages(self) -> None:
        """Add all messages to the search index."""
        ...

    def finish(self, now: int) -> None:
        """Replace the data of the target by the complete copy, in one step."""
        ...


def selection(table: Table, *, after: bool, parameter: str, collation: str = "") -> str:
    """Return the query for the rows of a table in the order of their keys. With `after`, the parameters of the query
    are the values of a key, and the query returns only rows with greater keys. `collation` orders texts by their
    bytes."""
    key = ", ".join(_by_bytes(table, name, collation) for name in table.key)
    beyond = f" AND ({key}) > ({', '.join([parameter] * len(table.key))})" if after else ""
    return f"SELECT {table.names} FROM {quoted(table.name)} WHERE {table.condition}{beyond} ORDER BY {key}"  # noqa: S608 only names of our own tables


def greatest(table: Table, collation: str = "") -> str:
    """Return the query for the greatest key of a table."""
    names = ", ".join(map(quoted, table.key))
    order = ", ".join(f"{_by_bytes(table, name, collation)} DESC" for name in table.key)
    return f"SELECT {names} FROM {quoted(table.name)} WHERE {table.condition} ORDER BY {order} LIMIT 1"  # noqa: S608 only names of our own tables


def _by_bytes(table: Table, column: str, collation: str) -> str:
    return f"{quoted(column)}{collation}" if column in table.texts else quoted(column)


@dataclass(frozen=True, slots=True)
class Content:
    """The number of rows of a table, and a digest of their values. The digest does not depend on the order of rows."""

    rows: int
    digest: str


def content(batches: Iterable[Sequence[Row]]) -> Content:
    total = rows = 0
    for batch in batches:
        rows += len(batch)
        for row in batch:
            digest = hashlib.blake2b(repr(tuple(row)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            total += int.from_bytes(digest)
    return Content(rows, f"{total % _TOTAL:032x}")


def index_all(session: Session, transaction: Callable[[], AbstractContextManager[object]]) -> None:
    """Add all messages to the search index, in transactions of limited size. Continue an interrupted index."""
    index = SqlMessageIndex(session)
    with transaction():
        if index.is_outdated():
            index.clear()
    # Each batch begins after the previous one. Otherwise, on PostgreSQL, each batch would read the messages of the last
    # minute again (`OVERLAP_MS`).
    since: str | None = ""
    while since is not None:
        with transaction():
            for _ in range(_BATCHES):
                if since is None:
                    break
                words = {text: message_words(text) for text in index.unindexed(since)}
                keys = index.new_keys({word for of_text in words.values() for word in of_text})
                since = index.advance(words, since, keys=keys)
