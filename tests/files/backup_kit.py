"""A data folder with data, and helpers to check the results of a backup or a restore."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arvis.domain.errors import ArvisError
from arvis.domain.messages import Attachment
from arvis.ports.backups import BackupFile
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.conformance.store.records import accept
from tests.fixtures.make_database import fill

NOW = 1_800_000_000_000
DAY_MS = 86_400_000
#: The messages and files that `filled` writes.
MESSAGES = 4
FILES = (b"a cat", b"a dog" * 1000)
HASHES = tuple(hashlib.sha256(data).hexdigest() for data in FILES)


class WatchedBackups:
    """Notes the backups that a service made, and the errors of those that it could not make."""

    def __init__(self) -> None:
        self.seen: list[BackupFile | ArvisError] = []

    async def made(self, backup: BackupFile) -> None:
        self.seen.append(backup)

    async def failed(self, error: ArvisError) -> None:
        self.seen.append(error)


def filled(folder: Path) -> Database:
    """Create a database with rows of every kind and two attachments, and close it."""
    folder.mkdir(exist_ok=True)
    database = Database(folder / "arvis.db", None, folder)
    asyncio.run(_fill(database))
    (folder / "api-key").write_text("never-in-a-backup")
    (folder / "logs").mkdir()
    (folder / "logs" / "arvis.log").write_text("never-in-a-backup")
    return database


async def _fill(database: Database) -> None:
    async with opened(database) as store:
        await store.write(fill)
        for data in FILES:
            await store.put_blob(data)
        await store.write(_attach)


def _attach(tx: Transaction) -> None:
    message_id, _ = accept(tx, "event-with-files")
    files = [
        Attachment(f"{number}.jpg", "image/jpeg", len(data), sha256)
        for number, (data, sha256) in enumerate(zip(FILES, HASHES, strict=True))
    ]
    tx.files.add(message_id, files)


def copied(template: Database, folder: Path, *, keep: int = 7) -> Database:
    """Copy the database into another folder."""
    shutil.copytree(template.folder, folder)
    return Database(folder / "arvis.db", None, folder, keep)


def say(database: Database, text: str) -> None:
    """Add a row as another program would."""
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("INSERT INTO settings VALUES (?, 'said', 0)", (text,))


def said(database: Database) -> list[str]:
    """Return the added rows in order; fail if the database is not sound."""
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [key for (key,) in connection.execute("SELECT key FROM settings WHERE value = 'said' ORDER BY key")]


def killed(database: Database, text: str) -> Database:
    """Copy the files as a kill leaves them: with a commit in the log, and the log's index."""
    folder = database.folder / "killed"
    folder.mkdir()
    with contextlib.closing(sqlite3.connect(database.file, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("INSERT INTO settings VALUES (?, 'said', 0)", (text,))
        for end in ("", "-wal", "-shm"):
            (folder / f"arvis.db{end}").write_bytes(database.file.with_name(f"arvis.db{end}").read_bytes())
    return Database(folder / "arvis.db", None, folder)


def everything(folder: Path) -> dict[str, bytes]:
    """Return every file by its path in the folder, except for SQLite's index and empty files."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm") and path.stat().st_size
    }


def members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: _bytes(tar, member) for member in tar.getmembers()}


def _bytes(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return b"" if file is None else file.read()


def manifest(archive: Path) -> Any:
    return json.loads(members(archive)["manifest.json"])


def rebuilt(path: Path, parts: Mapping[str, bytes | tarfile.TarInfo]) -> Path:
    """Write an archive of these members in this order; a `TarInfo` adds a member that is no plain file."""
    with gzip.open(path, "wb", compresslevel=1) as out, tarfile.open(fileobj=out, mode="w") as tar:
        for name, part in parts.items():
            if isinstance(part, tarfile.TarInfo):
                tar.addfile(part)
            else:
                header = tarfile.TarInfo(name)
                header.size = len(part)
                tar.addfile(header, io.BytesIO(part))
    return path
