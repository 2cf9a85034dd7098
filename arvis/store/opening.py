"""Open the configured database: migrated, started, with both of its sides. PostgreSQL's driver is imported only here
and only when it is configured."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arvis.domain.errors import ConfigError
from arvis.ports.insights import Insights
from arvis.ports.relay import Relay
from arvis.ports.store import Store
from arvis.store.blobs import Blobs
from arvis.store.emergency import ALONE, Emergency
from arvis.store.insights import SqlInsights
from arvis.store.migrations import available, migrate
from arvis.store.session import IdMaker
from arvis.store.sqlite import SqliteStore
from arvis.store.sqlite_errors import telling
from arvis.store.sqlite_migration import SqliteTarget
from arvis.store.sqlite_reading import SqliteSnapshots
from arvis.store.sqlite_session import connect


@dataclass(frozen=True, slots=True)
class Database:
    """Where the data is: a file, or `url` of a server. `folder` holds blobs and backups."""

    file: Path
    url: str | None
    folder: Path

    @property
    def blobs(self) -> Blobs:
        return Blobs(self.folder / "blobs")


def bring_up_to_date(database: Database, now: int) -> list[str]:
    """Run the missing migrations; their names. A snapshot is taken before (SQLite)."""
    if database.url is not None:
        target = postgres_part("postgres_migration").PostgresTarget(url=database.url, now=now)
        return migrate(target, available())
    with telling(), contextlib.closing(connect(database.file, writing=True)) as connection:
        return migrate(SqliteTarget(connection=connection, backups=database.folder / "backups", now=now), available())


@asynccontextmanager
async def open_store(
    database: Database, *, boot: str, new_id: IdMaker, emergency: Emergency = ALONE
) -> AsyncIterator[tuple[Store, Insights]]:
    """The store and its reading side, until the block ends; what waits then is committed first."""
    if database.url is None:
        with telling():
            sqlite = SqliteStore(path=database.file, blobs=database.blobs, new_id=new_id, emergency=emergency)
        insights = SqlInsights(SqliteSnapshots(database.file))
        sqlite.start()
        store: SqliteStore = sqlite
    else:
        store = postgres_part("postgres").PostgresStore(url=database.url, name=boot, new_id=new_id)
        insights = SqlInsights(postgres_part("postgres_reading").PostgresSnapshots(database.url))
    try:
        yield store, insights
    finally:
        await insights.close()
        await store.stop()


@asynccontextmanager
async def open_relay(database: Database, *, boot: str) -> AsyncIterator[Relay | None]:
    """The way to the other processes of this database until the block ends; None where there are none."""
    if database.url is None:
        yield None
        return
    relay = postgres_part("postgres_relay").PostgresRelay(url=database.url, name=boot)
    try:
        yield relay
    finally:
        await relay.close()


def postgres_part(module: str) -> Any:
    try:
        return importlib.import_module(f"arvis.store.{module}")
    except ModuleNotFoundError as missing:
        raise ConfigError(
            "PostgreSQL is configured, but its driver is not installed",
            why=f"there is no package {missing.name}",
            fix="install the extra: pip install 'arvis[postgres]'",
        ) from missing
