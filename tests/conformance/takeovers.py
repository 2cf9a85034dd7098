"""Processes that compete for a role and are frozen while they hold it: `python -m tests.conformance.takeovers --times
1000`.

Each process is a group of event-loop tasks with its own store and clock, over one real PostgreSQL. A frozen process
does nothing while its clock runs on.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from arvis.ports.store import Store
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding, Pace, RoleLeaseManager
from arvis.store.open import Database, open_store
from tests.conformance.databases import NOW, id_maker, migrated
from tests.parts import require
from tests.postgres import running_postgres

#: A sixtieth of the product's pace.
PACE = Pace(beat=0.0125, trust=0.033, look=0.0125, silence=0.05)
ROLE = "scheduler"


@asynccontextmanager
async def stores(database: Database, number: int) -> AsyncIterator[list[Store]]:
    """Open a store for each of `number` processes."""
    migrated(database, NOW)
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_store(database, boot=f"boot-{n}", new_id=id_maker()))
            for n in range(number)
        ]
        yield [store for store, _ in opened]


class Work:
    """The work of a role's holders as seen from outside: who took the role, and how often two held it at once."""

    def __init__(self) -> None:
        self.holdings: dict[str, Holding] = {}
        self.overlaps = 0
        self.takers: list[str] = []
        self.taken = asyncio.Event()

    def begin(self, name: str, holding: Holding) -> None:
        self.holdings[name] = holding
        self.takers.append(name)
        self.taken.set()
        self.look()

    def look(self) -> None:
        """Count an overlap. A frozen process counts, too, because it may wake at any moment."""
        self.overlaps += sum(holding.held for holding in self.holdings.values()) > 1


class Candidate:
    """A process that wants the role. `freeze` stops it without a write to the database."""

    def __init__(self, name: str, store: Store, work: Work, *, node: str | None = None, pace: Pace = PACE) -> None:
        self._name = name
        self._work = work
        self._awake = asyncio.Event()
        self._awake.set()
        keeper = RoleLeaseManager(
            name=ROLE, store=store, clock=FreezingClock(self._awake), owner=name, node=node or name, pace=pace
        )
        self._task = asyncio.create_task(keeper.run(self._act))

    async def _act(self, holding: Holding) -> None:
        self._work.begin(self._name, holding)
        while True:
            await asyncio.sleep(0.001)
            self._work.look()

    def freeze(self) -> None:
        self._awake.clear()

    def wake(self) -> None:
        self._awake.set()

    async def end(self) -> None:
        self._awake.set()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class FreezingClock(SystemClock):
    """A clock whose sleeps do not end while the process is frozen; its time runs on."""

    def __init__(self, awake: asyncio.Event) -> None:
        self._awake = awake

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._awake.wait()


async def play(database: Database, times: int, *, seed: int = 7, pace: Pace = PACE) -> tuple[list[float], int]:
    """Freeze the holder `times` times, and wake it when another one has taken the role.

    Return the seconds of each take-over, and how often two held the role.
    """
    work, chance = Work(), random.Random(seed)
    seconds: list[float] = []
    async with stores(database, 3) as opened:
        candidates = {f"p{n}": Candidate(f"p{n}", store, work, pace=pace) for n, store in enumerate(opened)}
        await work.taken.wait()
        for _ in range(times):
            await asyncio.sleep(chance.uniform(0, 0.03))
            holder = candidates[work.takers[-1]]
            seconds.append(await _take_over(holder, work))
            await asyncio.sleep(chance.uniform(0, 0.02))
            holder.wake()
        for candidate in candidates.values():
            await candidate.end()
    return seconds, work.overlaps


async def _take_over(holder: Candidate, work: Work) -> float:
    loop = asyncio.get_running_loop()
    work.taken.clear()
    begin = loop.time()
    holder.freeze()
    async with asyncio.timeout(20):
        await work.taken.wait()
    return loop.time() - begin


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.takeovers", description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--real", action="store_true", help="use the product's pace, four seconds for each take-over")
    options = parser.parse_args()
    pace = Pace() if options.real else PACE
    with (
        running_postgres(require("initdb")) as server,
        server.database("takeovers") as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        database = Database(Path(folder) / "none.db", url, Path(folder))
        seconds, overlaps = asyncio.run(play(database, options.times, seed=options.seed, pace=pace))
    print(f"{len(seconds)} take-overs, {overlaps} overlaps, at most {max(seconds):.3f} s each at {pace}")
    return 1 if overlaps else 0


if __name__ == "__main__":
    sys.exit(main())
