"""Databases as these tests open them: migrated, with real ids."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import sql

from arvis.ports.store import Store
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, bring_up_to_date, open_store
from arvis.store.sqlite.errors import ALONE, Emergency

NOW = 1_800_000_000_000


def id_maker() -> IdMaker:
    return IdMaker(clock=SystemClock(), random_bits=secrets.randbits)


@asynccontextmanager
async def opened(database: Database, boot: str = "boot-1", *, emergency: Emergency = ALONE) -> AsyncIterator[Store]:
    bring_up_to_date(database, NOW)
    async with open_store(database, boot=boot, new_id=id_maker(), emergency=emergency) as (store, _):
        yield store


def emptied(database: Database) -> None:
    """Bring a PostgreSQL database up to date and forget what a case before wrote."""
    assert database.url is not None
    bring_up_to_date(database, NOW)
    with psycopg.connect(database.url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        # Much faster than TRUNCATE, which makes new files; without foreign keys the order does not matter.
        connection.execute("SET session_replication_role = replica")
        for (table,) in found:
            if table != "migrations":
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
