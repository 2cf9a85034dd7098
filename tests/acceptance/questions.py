"""Store an open question in a data folder that no daemon holds, as a graph that pauses would."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

from arvis.domain.executions import Cursor, ExecutionStatus, Wait, WaitKind
from arvis.engine import lifecycle
from arvis.ports.store import Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, open_store


def ask_a_person(data: Path) -> str:
    """Store the question, and return its id."""
    return asyncio.run(_ask(data))


async def _ask(data: Path) -> str:
    database = Database(data / "arvis.db", None, data)
    async with open_store(database, boot="test", new_id=IdMaker(clock=SystemClock(), random_bits=secrets.randbits)) as (
        store,
        _,
    ):
        return await store.write(_pause)


def _pause(tx: Transaction) -> str:
    execution = lifecycle.begin(tx, tx.new_id(), "gone", {}, lane="test", priority=1, principal_id=None, now=1)
    tx.executions.set_status(execution.id, ExecutionStatus.PAUSED, None, 1)
    cursor = Cursor.start(execution.id)
    tx.executions.put_cursor(cursor)
    wait = Wait(tx.new_id(), execution.id, cursor.id, WaitKind.APPROVAL, "May I?", (), 1, None)
    tx.waits.add(wait)
    return wait.id
