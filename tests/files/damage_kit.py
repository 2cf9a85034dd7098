"""A database after a clean stop or a kill, and helpers to damage it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from arvis.store.location import Database
from arvis.store.sqlite.checkpoint import Sealing, kept_log, log_file, sealed
from arvis.store.sqlite.session import SqliteSession, connect
from arvis.store.transaction import SqlTransaction
from tests.conformance.databases import id_maker, migrated
from tests.conformance.store.scripts import part, said

NOW = 1_800_000_000_000
PAGE = 4096
FRAME = 24 + PAGE
HEADER = 32


class Life:
    """A connection that writes as the daemon's writer does, without a daemon."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.connection = connect(database.file, writing=True)
        self.sealing = Sealing(connection=self.connection, file=database.file)
        self.tx = SqlTransaction(SqliteSession(connection=self.connection, new_id=id_maker()))
        self._parts = self.connection.execute("SELECT count(*) FROM deliveries").fetchone()[0]

    def say(self, *words: str) -> None:
        """Store each word in one transaction of a page or two."""
        for word in words:
            self.connection.execute("BEGIN IMMEDIATE")
            self.tx.settings.put(word, word * 500, NOW)
            self.connection.execute("COMMIT")

    def receive(self, *ids: str, at: int = NOW) -> None:
        """Store messages of people, each with a part of a reply that is to be sent."""
        for message_id in ids:
            self.connection.execute("BEGIN IMMEDIATE")
            self._parts += 1
            self.tx.messages.add(replace(said(message_id), created_at=at))
            self.tx.deliveries.add(part(f"{message_id}-part", message_id, self._parts))
            self.connection.execute("COMMIT")

    def killed(self, name: str = "dead") -> Database:
        """Copy the files as a kill at this moment would leave them, into a folder of this name."""
        folder = self.database.folder.with_name(name)
        shutil.copytree(self.database.folder, folder)
        dead = Database(folder / "arvis.db", None, folder)
        kept_log(dead.file).unlink()
        os.link(log_file(dead.file), kept_log(dead.file))
        return dead


@contextlib.contextmanager
def life(folder: Path) -> Iterator[Life]:
    """Create a database and open it for writing; stop it cleanly at the end."""
    folder.mkdir()
    database = Database(folder / "arvis.db", None, folder)
    migrated(database, NOW)
    with resumed(database) as living:
        yield living


@contextlib.contextmanager
def resumed(database: Database) -> Iterator[Life]:
    living = Life(database)
    try:
        yield living
    finally:
        living.sealing.close()


def kept_words(database: Database) -> list[str]:
    """Return the stored words in order, as the daemon would read them. Every word must be whole."""
    with sealed(database.file) as connection:
        rows = connection.execute("SELECT key, value FROM settings WHERE key LIKE 'word-%' ORDER BY rowid").fetchall()
    assert all(row["value"] == row["key"] * 500 for row in rows)
    return [row["key"] for row in rows]


def flip(file: Path, place: int, bits: int = 0x01) -> None:
    """Change one byte."""
    data = bytearray(file.read_bytes())
    data[place] ^= bits
    file.write_bytes(data)


def cut(file: Path, size: int) -> None:
    os.truncate(file, size)
