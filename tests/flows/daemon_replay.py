"""`python -m tests.flows.daemon_replay --restarts 20` runs the real daemon, kills or stops it, and starts it again with
a clock that differs by hours or days. It counts faults in the daemon's rows, as the month replay does."""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from arvis.domain.schedules import Cause, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.ports.store import Transaction
from arvis.process.clock import SystemClock
from arvis.services.agents import ensure_conductor
from arvis.store.open import Database, bring_up_to_date, open_store
from tests.acceptance.daemon import Daemon
from tests.conformance.databases import id_maker
from tests.flows.schedule_kit import SCRIPT, add, everything, schedule_with

R = TypeVar("R")

#: The difference between the clock of each life and the true clock, in hours.
OFFSETS = (0, 1, 0, -1, 0, 24, 25, 24, 0, -24, -1, 0, 720, 0)
#: The length of a life in seconds, and the longest time after it in which the schedules that are due are handled.
LIFE, HANDLING = 1.0, 30.0
#: The rows are counted at the end, so they must survive a life whose clock is a month ahead.
KEEP = {"ARVIS__RETENTION__FINISHED_JOBS_DAYS": "365", "ARVIS__RETENTION__TIMELINE_DAYS": "365"}
SCHEDULES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("every 30s", {"kind": ScheduleKind.HEARTBEAT}),
    ("every 5s", {"kind": ScheduleKind.HEARTBEAT, "script": SCRIPT}),
    ("every 1h", {}),
    ("* * * * *", {}),
    ("0 * * * *", {}),
    ("@daily", {"timezone": "Europe/Berlin"}),
)


def replay(folder: Path, restarts: int, seed: int) -> tuple[int, list[str]]:
    """Return the number of occurrences that ran, and the faults."""
    chance = random.Random(seed)
    daemon, wrong = Daemon(folder, settings=KEEP), list[str]()
    database = Database(daemon.data / "arvis.db", None, daemon.data)
    daemon.data.mkdir()
    bring_up_to_date(database, SystemClock().now())
    asyncio.run(_within(database, _make))
    seen: set[str] = set()
    for number in range(restarts):
        _live(daemon, OFFSETS[number % len(OFFSETS)] * 3_600, kill=chance.random() < 0.5)
        found = asyncio.run(_within(database, _all))
        new = [one for one in found if one.id not in seen]
        seen.update(one.id for one in new)
        missed = Counter(one.schedule_id for one in new if one.cause is Cause.MISSED)
        wrong += [f"made up for {times} times in life {number}" for times in missed.values() if times > 1]
    ran = [one for one in asyncio.run(_within(database, _all)) if one.status is not OccurrenceStatus.SKIPPED]
    slots = Counter((one.schedule_id, one.due) for one in ran)
    wrong += [f"{slot} ran {times} times" for slot, times in slots.items() if times > 1]
    jobs = _jobs_of(database)
    if jobs != len(ran):
        wrong.append(f"{len(ran)} times were run, and {jobs} jobs were made for them")
    return len(ran), wrong


def _live(daemon: Daemon, seconds: int, *, kill: bool) -> None:
    daemon.under = (sys.executable, "-m", "tests.flows.daemon_elsewhen", str(seconds))
    try:
        daemon.start()
        time.sleep(LIFE)
        deadline = time.monotonic() + HANDLING
        while _is_due(daemon, SystemClock().now() + seconds * 1000) and time.monotonic() < deadline:
            time.sleep(0.05)
        daemon.kill() if kill else daemon.stop()
    finally:
        daemon.close()


def _is_due(daemon: Daemon, now: int) -> bool:
    """Return whether the daemon has not yet handled a schedule that was due a second ago."""
    with closing(sqlite3.connect(daemon.data / "arvis.db")) as connection:
        query = "SELECT count(*) FROM schedules WHERE enabled = 1 AND next_run < ?"
        return bool(connection.execute(query, [now - 1000]).fetchone()[0])


async def _within(database: Database, script: Callable[[Transaction], R]) -> R:
    async with open_store(database, boot="replay", new_id=id_maker()) as (store, _):
        return await store.write(script)


# -- scripts -----------------------------------------------------------------------------------------------


def _make(tx: Transaction) -> list[Schedule]:
    now = SystemClock().now()
    ensure_conductor(tx, now)
    return [add(tx, schedule_with(text, agent_id="conductor", **fields), now) for text, fields in SCHEDULES]


def _all(tx: Transaction) -> list[Occurrence]:
    return [one for schedule in everything(tx) for one in tx.occurrences.newest(schedule.id, 10_000)]


def _jobs_of(database: Database) -> int:
    """Return the number of all jobs of schedules."""
    with closing(sqlite3.connect(database.file)) as connection:
        found = connection.execute("SELECT count(*) FROM jobs WHERE kind IN ('cron', 'heartbeat')").fetchone()
    return int(found[0])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.flows.daemon_replay", description=__doc__)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="arvis-elsewhen-") as folder:
        ran, wrong = replay(Path(folder), given.restarts, given.seed)
    print(f"{given.restarts} lives of the daemon: {ran} times were run, {len(wrong)} wrong")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
