"""Opens the configured database. PostgreSQL's driver is imported only if PostgreSQL is configured."""

from __future__ import annotations

import contextlib
import importlib
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from arvis.domain.errors import Conflict
from arvis.ports.backups import MOVED_TO
from arvis.ports.bus import Relay
from arvis.ports.extras import missing_package
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.store.backups.making import copy_pages, damage_in, make_backup
from arvis.store.backups.swap import finish_restore
from arvis.store.blobs import check_room, disk_trouble
from arvis.store.location import Database
from arvis.store.sql.migrations import (
    Candidate,
    Migration,
    NoCheck,
    UpgradeCheck,
    available,
    migrate,
    missing_among,
    upgrade_failed,
)
from arvis.store.sql.session import IdMaker, SqliteDialect, load_queries
from arvis.store.sqlite.checkpoint import sealed
from arvis.store.sqlite.errors import ALONE, Emergency, store_errors
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import connect, looking_at
from arvis.store.sqlite.store import SqliteSnapshots, SqliteStore
from arvis.store.views.insights import SqlInsights

__all__ = ["Database", "bring_up_to_date", "load_postgres", "moved_to", "open_relay", "open_store", "rehearse_upgrade"]


def bring_up_to_date(
    database: Database, now: int, check: UpgradeCheck | None = None, *, moved: bool = False
) -> list[str]:
    """Run the missing migrations and `check` in one transaction, and return the names of the migrations. On SQLite,
    complete an interrupted restore first, and make a backup of an existing database before the commit. The caller must
    have checked the files (`make_sound`).

    Raise `SchemaTooNew`, `MigrationFailed`, `UpgradeFailed` or `DiskFull`; the data is then unchanged. Raise `Conflict`
    if `arvis move` has moved the data to another database, unless `moved` is set.
    """
    if database.url is not None:
        if not moved:
            _refuse_moved(database, moved_to(database))
        target = load_postgres("postgres.migrations").PostgresTarget(url=database.url, now=now)
        return migrate(target, available(), check)
    finish_restore(database)
    with _opening(database), sealed(database.file) as connection:
        if not moved:
            _refuse_moved(database, _mark_in(connection))
        safe = _SafeUpgrade(connection, check or NoCheck(), back_up=partial(make_backup, database, now))
        return migrate(SqliteTarget(connection=connection, now=now), available(), safe)


def rehearse_upgrade(database: Database, now: int, check: UpgradeCheck, *, at_rest: bool) -> list[str]:
    """Run the same steps as `bring_up_to_date`, but change nothing. Return the names of the migrations that would run.
    On SQLite, work on a copy, so that a daemon may use the database at the same time (`at_rest` is then False)."""
    if database.url is not None:
        target = load_postgres("postgres.migrations").PostgresTarget(url=database.url, now=now)
        missing = missing_among(available(), target.applied())
        return list(target.rehearse(missing, check)) if missing else []
    with _opening(database), tempfile.TemporaryDirectory(dir=database.folder, prefix=".look-") as folder:
        copy = Path(folder) / database.file.name
        with looking_at(database.file, at_rest=at_rest) as source:
            # The space for the copy and for its log, which contains every page that the migrations change.
            check_room(database.folder, 3 * database.file.stat().st_size, "a copy of the database")
            copy_pages(source, copy, threading.Event())
        with contextlib.closing(connect(copy, writing=True)) as connection:
            safe = _SafeUpgrade(connection, check, back_up=lambda _: None)
            return migrate(SqliteTarget(connection=connection, now=now), available(), safe)


@contextlib.contextmanager
def _opening(database: Database) -> Iterator[None]:
    with store_errors(), disk_trouble(f"The database {database.file} cannot be opened"):
        yield


class _SafeUpgrade:
    """The `UpgradeCheck` for SQLite. It checks the pages and rows, runs another check, and finally calls `back_up` with
    the name of the first migration. This backup contains the data from before the transaction."""

    def __init__(
        self, connection: sqlite3.Connection, check: UpgradeCheck, *, back_up: Callable[[str], object]
    ) -> None:
        self._connection = connection
        self.before = check.before
        self._check = check
        self._back_up = back_up

    def after(self, candidate: Candidate, ran: Sequence[Migration]) -> None:
        if damage := damage_in(self._connection):
            raise upgrade_failed(f"the migrations damaged the database: {'; '.join(damage)}")
        self._check.after(candidate, ran)
        self._back_up(ran[0].name)


def moved_to(database: Database) -> str | None:
    """Return the address to which `arvis move` has moved the data of this database, or None. While this function runs,
    no process may use a SQLite database."""
    if database.url is not None:
        found: str | None = load_postgres("postgres.migrations").moved_to(database.url)
        return found
    if not database.file.exists():
        return None
    try:
        with looking_at(database.file, at_rest=True) as connection:
            return _mark_in(connection)
    except (sqlite3.Error, UnicodeError):  # damaged, or not a database
        return None


def _mark_in(connection: sqlite3.Connection) -> str | None:
    try:
        row = connection.execute(load_queries(SqliteDialect())["get_key_value"], {"key": MOVED_TO}).fetchone()
    except sqlite3.OperationalError:  # new, or too old to have this table
        return None
    return None if row is None else row["value"]


def _refuse_moved(database: Database, to: str | None) -> None:
    if to is None:
        return
    back = "" if database.url is not None else f"; to return to the old data, run `arvis restore {database.file}`"
    raise Conflict(
        f"The data of this database was moved to {to}",
        why="`arvis move` marked the database, so that no daemon continues with the old data",
        fix=f"run `arvis move` again if it did not end, and set `database` in the configuration to that address{back}",
        code="moved",
    )


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
    """Yield the relay, which connects the processes that use this database, and close it at the end of the block. Yield
    None for SQLite, because only one process uses a SQLite database."""
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
