"""Checks of the data folder between two boots, on a copy.

The database file must be sound, and its schema must be the one before or after a migration. After the last process the
attachments must exist, and every backup must be complete.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from arvis.store.sql.migrations import Migration
from arvis.store.sql.session import SqliteDialect, load_queries
from tests.crash.verdict import Found, Kind, Violation

DATABASE = "arvis.db"


@dataclass(frozen=True, slots=True)
class Schema:
    """The objects of a database, and the migrations that it has recorded."""

    parts: frozenset[tuple[str, ...]]
    migrations: tuple[str, ...]


def schemas(code: Path) -> frozenset[Schema]:
    """Return all allowed schemas: an empty one, the table of migrations, and the schemas after the first migration, which
    the kept database has, and after the last one. An upgrade is one transaction, so no other schema may be seen."""
    migrations = [Migration(path.stem, path.read_text("utf-8")) for path in sorted((code / "migrations").glob("*.sql"))]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        found = {_schema(connection)}
        connection.execute(load_queries(SqliteDialect())["create_migrations"])
        found.add(_schema(connection))
        for migration in migrations:
            for statement in migration.statements(postgres=False):
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, ?, 0)", (migration.name, migration.checksum))
            if migration in (migrations[0], migrations[-1]):
                found.add(_schema(connection))
    return frozenset(found)


def damage(data: Path, allowed: Collection[Schema]) -> list[Violation]:
    """Return the defects of the database after a kill, as the next start will find it."""
    return [Violation(damage.__name__, kind, detail) for kind, detail in _damage(data, allowed)]


def lost_files(data: Path) -> list[Violation]:
    """Return violations for attachments without their bytes, and for backups that cannot be restored."""
    return [Violation(lost_files.__name__, kind, detail) for kind, detail in (*_attachments(data), *_backups(data))]


def _damage(data: Path, allowed: Collection[Schema]) -> Found:
    with tempfile.TemporaryDirectory(prefix="arvis-sweep-") as name:
        # The first process that opens the database creates the shared memory again.
        for file in data.glob(f"{DATABASE}*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, name)
        copy = Path(name) / DATABASE
        if not copy.exists():
            return
        if unsound := list(_unsound(copy)):
            yield from unsound
            return
        with closing(sqlite3.connect(copy)) as connection:
            schema = _schema(connection)
        if schema not in allowed:
            yield Kind.OTHER, f"the schema is between two migrations; {schema.migrations} are noted"


def _attachments(data: Path) -> Found:
    if not (data / DATABASE).exists():
        return
    with closing(sqlite3.connect(f"file:{data / DATABASE}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT message_id, sha256, size FROM attachments").fetchall()
    for message_id, sha256, size in rows:
        file = data / "blobs" / sha256[:2] / sha256[2:]
        content = file.read_bytes() if file.exists() else b""
        if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
            yield Kind.LOST, f"the file of message {message_id} has {len(content)} of {size} bytes"


def _backups(data: Path) -> Found:
    """Check that every file with the name of a backup contains a complete database."""
    for file in sorted((data / "backups").glob("[!.]*")):
        with tempfile.TemporaryDirectory(prefix="arvis-sweep-") as name:
            try:
                with tarfile.open(file) as archive:
                    archive.extract(DATABASE, name, filter="data")
            except (tarfile.TarError, EOFError, KeyError) as error:
                yield Kind.LOST, f"the backup {file.name} cannot be read: {error}"
                continue
            if unsound := list(_unsound(Path(name) / DATABASE)):
                yield from unsound
                continue
            with closing(sqlite3.connect(Path(name) / DATABASE)) as connection:
                if not _schema(connection).migrations:
                    yield Kind.LOST, f"the backup {file.name} is empty"


def _unsound(file: Path) -> Iterator[tuple[Kind, str]]:
    with closing(sqlite3.connect(file)) as connection:
        try:
            found = [*connection.execute("PRAGMA integrity_check"), *connection.execute("PRAGMA foreign_key_check")]
        except sqlite3.DatabaseError as error:
            found = [(str(error),)]
    if found != [("ok",)]:
        yield Kind.OTHER, f"{file.name} is damaged: {found[:5]}"


def _schema(connection: sqlite3.Connection) -> Schema:
    query = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"
    parts = frozenset(tuple(row) for row in connection.execute(query))
    noted = any(part[1] == "migrations" for part in parts)
    rows = connection.execute("SELECT name FROM migrations ORDER BY name").fetchall() if noted else []
    return Schema(parts, tuple(row[0] for row in rows))
