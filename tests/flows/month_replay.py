"""`python -m tests.flows.month_replay --restarts 200` runs two months of schedules in fast motion, over the days on
which the clocks of Berlin, New York and Lord Howe Island change. Meanwhile, the clock is set by hours and days, and the
scheduler dies between its commits.

The faults are times that ran twice, times that did not come, intervals that stopped or came in a burst, and missed
times that were made up for more than once. The expected times are computed minute by minute, without `arvis.calendar`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from arvis.domain.schedules import Cause, Occurrence, OccurrenceStatus, Schedule
from arvis.ports.store import Store, Transaction
from arvis.scheduler.scheduler import look
from arvis.store.open import Database, bring_up_to_date, open_store
from tests.conformance.databases import id_maker
from tests.flows.month_judge import Told, judge
from tests.flows.month_schedules import wanted
from tests.flows.replay_parts import Cut, CuttingStore, Trouble, troubles
from tests.flows.schedule_kit import DAY, Desk, WildClock, add, add_helper, at, end_one, everything

#: First day and number of days; the clocks of all three zones change in each window.
SPRING, AUTUMN = ("2027-03-07 00:00", 31), ("2027-10-02 00:00", 38)
#: The scheduler polls at the latest after this time when a clock was set.
POLL_SECONDS = 10.0


@dataclass(slots=True)
class Replay:
    """One window of time; `told` collects the events for the judge."""

    database: Database
    clock: WildClock
    chance: random.Random
    told: Told = field(default_factory=Told)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    ends: dict[str, float] = field(default_factory=dict)
    restarts: int = 0

    async def run(self, days: float, restarts: int) -> Told:
        bring_up_to_date(self.database, self.clock.now())
        await self._open()
        await self.store.write(add_helper)
        for schedule in wanted(self.clock.now()):
            made = await self.store.write(add, schedule, self.clock.now())
            self.told.schedules[made.id] = made
        coming = troubles(self.chance, days * DAY / 1000, restarts)
        for trouble in coming:
            await self._live_until(trouble.at)
            await self._suffer(trouble)
        await self._live_until(days * DAY / 1000)
        self.told.occurrences = await self.store.read(_all)
        self.told.jobs = await self.store.read(_begun)
        await self.stack.aclose()
        return self.told

    # -- quiet times ---------------------------------------------------------------------------------------

    async def _live_until(self, end: float) -> None:
        """Poll whenever an occurrence is due, and end runs after their time."""
        since = None
        while self.clock.monotonic() < end:
            try:
                await self.desk.look()
            except Cut:
                await self._restart(0.0)
                since = None
                continue
            now = self.clock.now()
            if since is not None:
                self.told.covered.append((since, now))
            since = now
            await self._note_begun()
            soonest = (await self.store.read(look, now)).soonest
            wait = (soonest - now) / 1000 if soonest is not None else 3600.0
            ending = min(self.ends.values(), default=end) - self.clock.monotonic()
            step = max(0.001, min(wait, ending, end - self.clock.monotonic()))
            self.clock.pass_time(step)
            self.told.awake += step
            await self._end_what_is_over()
            if ending <= step:
                # The next poll sees occurrences that became due meanwhile.
                self.clock.pass_time(min(POLL_SECONDS, max(0.0, end - self.clock.monotonic())))

    async def _note_begun(self) -> None:
        for one in await self.store.read(_running):
            if one.id not in self.ends:
                seconds = self.chance.uniform(1, 40)
                if self.told.schedules[one.schedule_id].name == "long":
                    seconds = self.chance.uniform(60, 7_200)
                self.ends[one.id] = self.clock.monotonic() + seconds
                self.told.begun.append((one.id, self.told.epoch, self.told.awake))

    async def _end_what_is_over(self) -> None:
        over = {each for each, at in self.ends.items() if at <= self.clock.monotonic()}
        if over:
            await self.store.write(_end, over, self.clock.now())
            for each in over:
                self.ends[each] = float("inf")

    # -- troubles ------------------------------------------------------------------------------------------

    async def _suffer(self, trouble: Trouble) -> None:
        self.told.epoch += 1
        if self.cutting.armed:  # there was nothing to write meanwhile
            await self._restart(0.0)
        if trouble.jump:
            self.clock.set_by(trouble.jump)
            self.clock.pass_time(self.chance.uniform(0, POLL_SECONDS))
        elif trouble.cut:
            self.cutting.cut_in(trouble.cut, committed=self.chance.random() < 0.5)
        else:
            await self._restart(trouble.down)

    async def _restart(self, seconds: float) -> None:
        self.told.epoch += 1
        self.restarts += 1
        await self.stack.aclose()
        self.clock.pass_time(seconds)
        await self._open()

    async def _open(self) -> None:
        self.stack = AsyncExitStack()
        opened = open_store(self.database, boot=f"boot-{self.restarts}", new_id=id_maker())
        self.store, _ = await self.stack.enter_async_context(opened)
        self.cutting = CuttingStore(self.store)
        self.desk = Desk(self.cutting, self.clock, poll_seconds=POLL_SECONDS)

    store: Store = field(init=False)
    cutting: CuttingStore = field(init=False)
    desk: Desk = field(init=False)


# -- scripts -----------------------------------------------------------------------------------------------


def _running(tx: Transaction) -> list[Occurrence]:
    return [one for schedule in everything(tx) for one in tx.occurrences.running(schedule.id)]


def _end(tx: Transaction, over: set[str], now: int) -> None:
    for schedule in everything(tx):
        for one in tx.occurrences.running(schedule.id):
            if one.id in over:
                end_one(tx, schedule, one, _end_of(schedule), "", now=now)


def _end_of(schedule: Schedule) -> OccurrenceStatus:
    return OccurrenceStatus.FAILED if schedule.name == "failing" else OccurrenceStatus.DONE


def _all(tx: Transaction) -> list[Occurrence]:
    return [one for schedule in everything(tx) for one in tx.occurrences.newest(schedule.id, 100_000)]


def _begun(tx: Transaction) -> list[str]:
    """Return the executions of all occurrences that ran."""
    found = [one.execution_id for one in _all(tx) if one.execution_id is not None]
    return [execution_id for execution_id in found if tx.executions.get(execution_id) is not None]


# -- the command -------------------------------------------------------------------------------------------


async def replay(start: str, days: float, restarts: int, seed: int, folder: Path) -> tuple[Told, list[str]]:
    """Return the events and the faults of one window."""
    clock = WildClock(at(start, "UTC"))
    one = Replay(Database(folder / "arvis.db", None, folder), clock, random.Random(seed))
    told = await one.run(days, restarts)
    told.restarts = one.restarts
    return told, judge(told)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.flows.month_replay", description=__doc__)
    parser.add_argument("--restarts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    given = parser.parse_args()
    wrong = []
    for number, (start, days) in enumerate((SPRING, AUTUMN)):
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="arvis-month-") as folder:
            told, found = asyncio.run(replay(start, days, given.restarts // 2, given.seed + number, Path(folder)))
        wrong += found
        causes = Counter(one.cause.value for one in told.occurrences if one.status is not OccurrenceStatus.SKIPPED)
        print(
            f"{start[:7]}, {days} days, seed {given.seed + number}: {len(told.schedules)} schedules, "
            f"{sum(causes.values())} runs ({causes[Cause.DUE.value]} due, {causes[Cause.MISSED.value]} made up for), "
            f"{told.restarts} restarts, {told.jumps} jumps, {time.perf_counter() - began:.0f} s: {len(found)} wrong"
        )
    for line in wrong[:50]:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
