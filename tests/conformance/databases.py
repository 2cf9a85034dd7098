"""The databases of these tests: migrated, with real ids."""

from __future__ import annotations

import functools
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from arvis.ports.store import Store
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, bring_up_to_date, open_store
from arvis.store.sqlite.errors import ALONE, Emergency
from tests.postgres import PostgresServer

NOW = 1_800_000_000_000


def id_maker() -> IdMaker:
    return IdMaker(clock=SystemClock(), random_bits=secrets.randbits)


def migrated(database: Database, now: int = NOW) -> None:
    """Bring a database up to date. A new file is copied from a migrated one, which takes a tenth of the time."""
    if database.url is None and not database.file.exists():
        new = _new_database()
        for file in new.parent.glob(f"{new.name}*"):
            shutil.copyfile(file, database.file.with_name(file.name.replace(new.name, database.file.name)))
    bring_up_to_date(database, now)


@functools.cache
def _new_database() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="arvis-new-database-")
    _FOLDERS.append(folder)
    file = Path(folder.name) / "new.db"
    bring_up_to_date(Database(file, None, file.parent), NOW)
    return file


@functools.cache
def migrated_template(server: PostgresServer) -> str:
    """Return the name of a migrated database of this server. A copy takes a fifth of the time of a migration."""
    name = "migrated"
    server.create(name)
    bring_up_to_date(Database(Path("unused"), server.url(name), Path("unused")), NOW)
    return name


#: Temporary folders that exist until this process ends.
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


@asynccontextmanager
async def opened(database: Database, boot: str = "boot-1", *, emergency: Emergency = ALONE) -> AsyncIterator[Store]:
    migrated(database)
    async with open_store(database, boot=boot, new_id=id_maker(), emergency=emergency) as (store, _):
        yield store


def emptied(database: Database) -> None:
    """Bring a PostgreSQL database up to date and delete the rows of earlier cases."""
    assert database.url is not None
    bring_up_to_date(database, NOW)
    with psycopg.connect(database.url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        # DELETE is much faster than TRUNCATE, which creates new files. Without foreign keys, the order does not matter.
        connection.execute("SET session_replication_role = replica")
        for (table,) in found:
            if table != "migrations":
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
