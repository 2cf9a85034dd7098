"""SQLite as the source and as the target of a move.

The target is a separate file in the folder `moving` of the data folder. When it is complete, it replaces the database
in the same way as a restored backup: the replaced database is moved to another folder, and if the process is killed,
the result is either the old or the new database.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from arvis.domain.errors import StoreError
from arvis.ports.backups import MOVED_TO
from arvis.store.backups.making import damage_in
from arvis.store.backups.swap import put_prepared
from arvis.store.blobs import create_private, disk_trouble, private_folder, sha256_of, sync_file
from arvis.store.location import Database
from arvis.store.moving.tables import BATCH, UNFINISHED, Key, Row, Table, greatest, index_all, quoted, selection
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.checkpoint import sealed
from arvis.store.sqlite.errors import store_errors
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import SqliteSession, connect, looking_at

#: The number of pages after which a commit writes the log into the file.
_CHECKPOINT_PAGES = 2000


def _batches(connection: sqlite3.Connection, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
    query = selection(table, after=after is not None, parameter="?")
    with contextlib.closing(connection.execute(query, () if after is None else tuple(after))) as cursor:
        cursor.row_factory = None
        while rows := cursor.fetchmany(BATCH):
            yield rows


class SqliteSource:
    """Implements `Source`. The caller holds the lock of the data folder."""

    def __init__(self, database: Database, connection: sqlite3.Connection, reading: contextlib.ExitStack) -> None:
        self._database = database
        self._connection = connection
        self._reading = reading

    def batches(self, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
        return _batches(self._connection, table, after)

    def blobs(self) -> Sequence[str]:
        return self._database.blobs.names()

    def blob(self, sha256: str) -> bytes | None:
        path = self._database.blobs.path(sha256)
        if sha256_of(path, threading.Event()) != sha256:
            return None
        return path.read_bytes()

    def mark_moved(self, target: str, now: int) -> None:
        self._reading.close()
        with sealed(self._database.file) as connection:
            parameters = {"key": MOVED_TO, "value": target, "now": now}
            connection.execute(load_queries(SqliteDialect())["put_key_value"], parameters)


@contextmanager
def open_source(database: Database) -> Iterator[SqliteSource]:
    with (
        store_errors(),
        disk_trouble(f"The database {database.file} cannot be read"),
        contextlib.ExitStack() as reading,
    ):
        connection = reading.enter_context(looking_at(database.file, at_rest=True))
        yield SqliteSource(database, connection, reading)


class SqliteCopy:
    """Implements `Target`. `now` is in ms."""

    def __init__(self, *, database: Database, source: str, now: int) -> None:
        self._database = database
        self._folder = database.folder / "moving"
        self._file = self._folder / "arvis.db"
        self._source = source
        self._now = now
        self._queries = load_queries(SqliteDialect())
        self.resumed = self._file.exists() and self._begun_by() == source
        if not self.resumed:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._connection = self._open()

    def close(self) -> None:
        self._connection.close()

    def start_again(self) -> None:
        self._connection.close()
        shutil.rmtree(self._folder)
        self.resumed = False
        self._connection = self._open()

    def last_key(self, table: Table) -> Key | None:
        found = self._connection.execute(greatest(table)).fetchone()
        return None if found is None else tuple(found)

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        places = ", ".join("?" * len(table.columns))
        with self._transaction():
            statement = f"INSERT INTO {quoted(table.name)} ({table.names}) VALUES ({places})"  # noqa: S608 only names of our own tables
            self._connection.executemany(statement, rows)

    def batches(self, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
        return _batches(self._connection, table, after)

    def blobs(self) -> Sequence[str]:
        blobs = self._database.blobs
        return [name for name in blobs.names() if sha256_of(blobs.path(name), threading.Event()) == name]

    def put_blob(self, data: bytes) -> None:
        self._database.blobs.replace(data)

    def index_messages(self) -> None:
        # `new_id` is not called, because the rows of the index need no new ids.
        session = SqliteSession(connection=self._connection, new_id=str)
        index_all(session, self._transaction)

    def finish(self, now: int) -> None:
        if damage := damage_in(self._connection):
            raise StoreError(
                "The copy is damaged", why="; ".join(damage), fix="check the disk, then run the command again"
            )
        self._connection.execute(self._queries["delete_key_value"], {"key": UNFINISHED})
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._connection.close()
        sync_file(self._file)
        put_prepared(self._database, self._file, now)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begun_by(self) -> str | None:
        """Return the source of the unfinished copy, or None if the copy cannot be used."""
        try:
            with contextlib.closing(connect(self._file, writing=True)) as connection:
                applied = {row["name"] for row in connection.execute(self._queries["applied_migrations"])}
                found = connection.execute(self._queries["get_key_value"], {"key": UNFINISHED}).fetchone()
        except sqlite3.Error:
            return None
        return found["value"] if found is not None and applied == {each.name for each in available()} else None

    def _open(self) -> sqlite3.Connection:
        if not self.resumed:
            private_folder(self._folder)
            create_private(self._file).close()
        connection = connect(self._file, writing=True)
        # A row is copied after the rows of other tables to which it refers. But it may refer to a later row of its own
        # table.
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        if not self.resumed:
            migrate(SqliteTarget(connection=connection, now=self._now), available())
            parameters = {"key": UNFINISHED, "value": self._source, "now": self._now}
            connection.execute(self._queries["put_key_value"], parameters)
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()


@contextmanager
def open_copy(database: Database, source: str, now: int) -> Iterator[SqliteCopy]:
    """Open the copy that will become this database. Continue an unfinished copy of the same source. The caller holds
    the lock of the data folder."""
    with (
        store_errors(),
        disk_trouble(f"The database {database.file} cannot be written"),
        contextlib.closing(SqliteCopy(database=database, source=source, now=now)) as copy,
    ):
        yield copy
