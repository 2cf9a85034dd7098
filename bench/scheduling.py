"""The benchmark row about schedules that are not due: the cost of waiting for a thousand of them."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace
from pathlib import Path

from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.ports.store import Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, open_store
from bench.processes import cpu_seconds
from bench.report import Figure, Target
from bench.rounds import Setting
from bench.servers import daemon

SCHEDULES = 1_000
HOUR_MS = 3_600_000


async def schedules(setting: Setting) -> list[Figure]:
    """Measure the processor time of an idle daemon in a minute, with a thousand schedules that are due later that day;
    the control is the same daemon without schedules."""
    folder = setting.folder / "schedules"
    without = await _idle(folder, setting.scale.idle_seconds)
    await _add(folder / "data")
    found = await _idle(folder, setting.scale.idle_seconds)
    return [
        Figure(
            f"idle with {SCHEDULES:,} schedules, CPU",
            found,
            "ms/min",
            without,
            "the same without schedules",
            found / without if without else None,
            Target(60, 20, lower=True),
        )
    ]


async def _idle(folder: Path, seconds: float) -> float:
    """Return the processor time of an idle daemon in milliseconds per minute."""
    with daemon(folder) as server:
        # The daemon may do some work of its start after the ready line.
        await asyncio.sleep(2)
        begun, used = time.perf_counter(), cpu_seconds(server.pids[0])
        await asyncio.sleep(seconds)
        return (cpu_seconds(server.pids[0]) - used) / (time.perf_counter() - begun) * 60_000


async def _add(data: Path) -> None:
    new_id = IdMaker(clock=SystemClock(), random_bits=secrets.randbits)
    async with open_store(Database(data / "arvis.db", None, data), boot="bench", new_id=new_id) as (store, _):
        await store.write(add_schedules, SystemClock().now())


def add_schedules(tx: Transaction, now: int) -> None:
    """Add schedules, none of which is due within the next hour."""
    agent = tx.agents.by_slug("helper") or tx.agents.all()[0]
    blank = Schedule(
        id="", kind=ScheduleKind.CRON, agent_id=agent.id, name="", schedule="0 8 * * *", timezone=None, prompt="Report.",
        platform="web", connector="", channel="room", script=None, missed=Missed.ONCE, enabled=True, principal_id=None,
        last_run=None, next_run=None, created_at=now, updated_at=now,
    )  # fmt: skip
    for number in range(SCHEDULES):
        due = now + HOUR_MS + number * 22 * HOUR_MS // SCHEDULES
        tx.schedules.add(replace(blank, id=tx.new_id(), name=f"cron {number}", next_run=due))
