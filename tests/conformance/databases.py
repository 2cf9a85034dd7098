"""Databases as these tests open them: migrated, with real ids."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arvis.ports.store import Store
from arvis.process.clock import SystemClock
from arvis.process.ids import IdMaker
from arvis.store.opening import Database, bring_up_to_date, open_store

NOW = 1_800_000_000_000


def id_maker() -> IdMaker:
    return IdMaker(clock=SystemClock(), random_bits=secrets.randbits)


@asynccontextmanager
async def opened(database: Database, boot: str = "boot-1") -> AsyncIterator[Store]:
    bring_up_to_date(database, NOW)
    async with open_store(database, boot=boot, new_id=id_maker()) as (store, _):
        yield store
