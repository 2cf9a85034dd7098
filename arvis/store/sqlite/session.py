"""Connections to SQLite: the session of a transaction, and connections that only read and change no file. Commands that
only read must not change the log or its index: after a crash, the next start compares these files to find out which
commits must be present."""

from __future__ import annotations

import contextlib
import functools
import re
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import differing_signs
from arvis.domain.messages import PastMessage
from arvis.domain.regex import regex
from arvis.store.sql.full_text import SqliteFullText
from arvis.store.sql.history_cache import HistoryCache, rewrites_history
from arvis.store.sql.reference_cache import MISSING, TABLES, Computed, ReferenceCache, read_tables, written_tables
from arvis.store.sql.session import IdMaker, Notices, Row, SqliteDialect, load_queries
from arvis.store.sqlite.wal import link_or_copy, with_suffix


def connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    """Open a connection with the pragmas on which the store's guarantees depend. The caller must begin its
    transactions."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.row_factory = sqlite3.Row
    connection.create_function("differing_signs", 2, differing_signs, deterministic=True)
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA foreign_keys = ON")
    # By default SQLite creates a file for each temporary table of a writing transaction. A claim of jobs needs such a
    # table for a few ids, and the file would cost 100 µs each time.
    connection.execute("PRAGMA temp_store = MEMORY")
    if writing:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        # No automatic checkpoints: a commit would have to wait for them. The writer makes checkpoints between groups.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # Overwrite deleted texts and their words. This is the default only in some builds of SQLite, such as Debian's.
        connection.execute("PRAGMA secure_delete = ON")
    else:
        connection.execute("PRAGMA query_only = ON")
    return connection


def read_only(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a connection that cannot change the database, for commands and checks. With `immutable`, SQLite neither
    reads nor creates the log and its index; no process may write the file at the same time."""
    mode = "mode=ro&immutable=1" if immutable else "mode=ro"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def close_abandoned(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):  # closing can fail, but the connection is not used any more
        connection.close()


T = TypeVar("T")

#: Statements that change an execution or its messages.
_CHANGES_WORK = regex(
    r"\b(?:INTO|UPDATE|DELETE\s+FROM)\s+(?:attachments|cursors|effects|executions|messages)\b", re.IGNORECASE
)

#: Rows with at least this many columns are converted to dictionaries. A `sqlite3.Row` searches all column names for
#: each value, which takes longer in total than making a dictionary.
WIDE = 8


@dataclass(frozen=True, slots=True)
class _Changes:
    """The effects of the queries. `tables`: the tables of `TABLES` that each query changes. `of_histories`: the names
    of the queries that can change messages of ended turns. `of_work`: the names of the queries that can change work
    that existed before the transaction."""

    tables: Mapping[str, frozenset[str]]
    of_histories: Collection[str]
    of_work: Collection[str]


@functools.cache
def _changes() -> _Changes:
    """Derive the effects from the texts of the queries. Each process does this only once, because there are hundreds of
    queries."""
    queries = load_queries(SqliteDialect())
    of_work = {name for name, text in queries.items() if _CHANGES_WORK.search(text)}
    return _Changes(written_tables(queries), rewrites_history(queries), of_work - {"add_execution", "add_message"})


class SqliteSession:
    """The session of one connection. `notices` belongs to the group of scripts that is running. All connections of the
    process share `cache` and `histories`. A session without them caches nothing."""

    locks_rows = False
    full_text = SqliteFullText()

    def __init__(
        self,
        *,
        connection: sqlite3.Connection,
        new_id: IdMaker,
        cache: ReferenceCache | None = None,
        histories: HistoryCache | None = None,
    ) -> None:
        self._connection = connection
        self._queries = load_queries(SqliteDialect())
        self._cache = ReferenceCache() if cache is None else cache
        self._holds = cache is not None
        #: The version of the cache at the beginning of the transaction.
        self._seen = 0
        #: The tables of the cache that the transaction has changed.
        self._changed: set[str] = set()
        changes = _changes()
        self._written = changes.tables
        self._histories = HistoryCache() if histories is None else histories
        self._rewriting = changes.of_histories
        self._changing = changes.of_work
        #: Three values: the last commit that is certainly visible to the transaction, True if the transaction only
        #: reads, and True if it has rewritten a history.
        self._begun = 0
        self._reading = False
        self._rewrites = False
        self._read: dict[str, frozenset[str]] = {}
        #: Two values: the tables whose cached results were used since the start of `held_value`, and True if no other
        #: query has run since then.
        self._used: set[str] = set()
        self._only_held = True
        #: SQLite's counter of the commits by other connections.
        self._data_version = 0
        self.new_id = new_id
        self.notices = Notices()
        self._columns: dict[str, list[str]] = {}

    def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        """Run a query and fetch all its rows. Otherwise the statement would keep the snapshot of the transaction
        open."""
        if query in self._written:
            self._changed |= self._written[query]
        self._rewrites = self._rewrites or query in self._rewriting
        self._only_held = False
        cursor = self._connection.execute(self._queries[query], parameters)
        found = cursor.fetchall()
        if not found:
            return ()
        columns = self._columns.get(query)
        if columns is None:
            columns = self._columns[query] = [column[0] for column in cursor.description]
        return found if len(columns) < WIDE else [dict(zip(columns, row, strict=True)) for row in found]

    def one(self, query: str, **parameters: Any) -> Row | None:
        rows = self.rows(query, **parameters)
        return rows[0] if rows else None

    def execute(self, query: str, **parameters: Any) -> int:
        if query in self._written:
            self._changed |= self._written[query]
        self._rewrites = self._rewrites or query in self._rewriting
        self._only_held = False
        if self.notices.begun and query in self._changing:
            self.notices.changed(parameters.values())
        return self._connection.execute(self._queries[query], parameters).rowcount

    def execute_many(self, query: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        if query in self._written:
            self._changed |= self._written[query]
        self._rewrites = self._rewrites or query in self._rewriting
        self._only_held = False
        if self.notices.begun and query in self._changing:
            self.notices.begun.clear()
        self._connection.executemany(self._queries[query], parameters)

    def held(self, query: str, make: Callable[[Sequence[Row]], T], **parameters: Any) -> T:
        tables = self._read.get(query)
        if tables is None:
            tables = self._read[query] = read_tables(self._queries[query])
        self._used |= tables
        if not self._holds or (self._changed and not self._changed.isdisjoint(tables)):
            return make(self.rows(query, **parameters))
        key = (query, make, *parameters.values())
        value = self._cache.get(key, tables, self._seen)
        if value is MISSING:
            only_held = self._only_held
            value = make(self.rows(query, **parameters))
            self._only_held = only_held
            self._cache.put(key, self._seen, value)
        found: T = value
        return found

    def held_value(self, key: Hashable, make: Callable[[], T]) -> T:
        if not self._holds:
            return make()
        known = self._cache.computed(key, self._seen)
        if known is not None and self._changed.isdisjoint(known.tables):
            self._used |= known.tables
            found: T = known.value
            return found
        used, only_held = self._used, self._only_held
        self._used, self._only_held = set(), True
        try:
            made = make()
            tables = frozenset(self._used)
            if self._only_held and self._changed.isdisjoint(tables):
                self._cache.put(key, self._seen, Computed(made, tables))
        finally:
            self._used, self._only_held = used | self._used, only_held and self._only_held
        return made

    def holds(self, table: str) -> bool:
        return self._holds and table not in self._changed

    def held_history(self, key: Hashable) -> Sequence[PastMessage] | None:
        return None if self._rewrites else self._histories.get(key, self._begun)

    def hold_history(self, key: Hashable, messages: Sequence[PastMessage]) -> None:
        if self._reading:
            self._histories.put(key, messages, self._begun)

    def begin_read(self) -> None:
        self._reading = True
        self._begun = self._histories.begin()
        self._seen = self._cache.version
        self._connection.execute("BEGIN")

    def begin_write(self) -> None:
        """Begin a transaction that holds the lock of the database. If another program has changed the database, drop
        all cached results."""
        self._connection.execute("BEGIN IMMEDIATE")
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version:
            self._data_version = version
            self._cache.change(TABLES)
            self._histories.drop_all()
        self._begun = self._histories.begin()
        self._seen = self._cache.version
        self._rewrites = False
        self._changed.clear()

    def commit(self) -> None:
        self._cache.change(self._changed)
        self._histories.commit_begins(rewrites=self._rewrites)
        try:
            self._connection.execute("COMMIT")
        finally:
            self._cache.change(self._changed)
            self._histories.commit_ended()


@contextlib.contextmanager
def looking_at(file: Path, *, at_rest: bool) -> Iterator[sqlite3.Connection]:
    """Yield a connection that changes no file of the database. If no process uses the database (`at_rest`), an ordinary
    connection would rebuild the index of the log. To prevent this, open hard links to the database and its log in a
    separate folder."""
    log = with_suffix(file, "-wal")
    if not at_rest:
        with contextlib.closing(read_only(file)) as connection:
            yield connection
    elif not (log.exists() and log.stat().st_size):
        with contextlib.closing(read_only(file, immutable=True)) as connection:
            yield connection
    else:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".look-") as folder:
            other = Path(folder) / file.name
            link_or_copy(file, other)
            link_or_copy(log, with_suffix(other, "-wal"))
            with contextlib.closing(read_only(other)) as connection:
                yield connection
