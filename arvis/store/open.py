"""Opens the configured database. PostgreSQL's driver is imported only if PostgreSQL is configured."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from arvis.ports.bus import Relay
from arvis.ports.extras import missing_package
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.store.backups.making import make_backup
from arvis.store.backups.swap import finish_restore
from arvis.store.blobs import disk_trouble
from arvis.store.location import Database
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import IdMaker
from arvis.store.sqlite.checkpoint import sealed
from arvis.store.sqlite.errors import ALONE, Emergency, store_errors
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.store import SqliteSnapshots, SqliteStore
from arvis.store.views.insights import SqlInsights

__all__ = ["Database", "bring_up_to_date", "load_postgres", "open_relay", "open_store"]


def bring_up_to_date(database: Database, now: int) -> list[str]:
    """Run the missing migrations and return their names. On SQLite, complete an interrupted restore first, and make a
    backup before an existing database is migrated. The caller must have checked the files (`make_sound`)."""
    if database.url is not None:
        target = load_postgres("postgres.migrations").PostgresTarget(url=database.url, now=now)
        return migrate(target, available())
    finish_restore(database)
    with (
        store_errors(),
        disk_trouble(f"The database {database.file} cannot be opened"),
        sealed(database.file) as connection,
    ):
        back_up = partial(make_backup, database, now)
        return migrate(SqliteTarget(connection=connection, now=now, back_up=back_up), available())


@asynccontextmanager
async def open_store(
    database: Database, *, boot: str, new_id: IdMaker, emergency: Emergency = ALONE
) -> AsyncIterator[tuple[Store, Insights]]:
    """Yield the store, and the insights, which read the data for pages. At the end of the block, finish the waiting
    scripts and close both."""
    if database.url is None:
        with store_errors(), disk_trouble(f"The database {database.file} cannot be opened"):
            sqlite = SqliteStore(path=database.file, blobs=database.blobs, new_id=new_id, emergency=emergency)
        insights = SqlInsights(SqliteSnapshots(database.file))
        sqlite.start()
        store: SqliteStore = sqlite
    else:
        store = load_postgres("postgres.store").PostgresStore(url=database.url, name=boot, new_id=new_id)
        insights = SqlInsights(load_postgres("postgres.session").PostgresSnapshots(database.url))
    try:
        yield store, insights
    finally:
        await insights.close()
        await store.stop()


@asynccontextmanager
async def open_relay(database: Database, *, boot: str) -> AsyncIterator[Relay | None]:
    """Yield the relay, which connects the processes that use this database. Close it at the end of the block. Yield
    None for SQLite, because only one process uses it."""
    if database.url is None:
        yield None
        return
    relay = load_postgres("postgres.relay").PostgresRelay(url=database.url, name=boot)
    try:
        yield relay
    finally:
        await relay.close()


def load_postgres(module: str) -> Any:
    try:
        return importlib.import_module(f"arvis.store.{module}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("arvis."):
            raise
        raise missing_package("PostgreSQL", missing.name or str(missing), "postgres") from missing
