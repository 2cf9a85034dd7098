"""A small stage for the engine: scenarios, a store that dies at a chosen commit, and a driver that starts again.

The driver does what the queue does (claim, advance, rescue) without its tasks, so that every commit of a scenario
can be counted and cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

from arvis.bus import EventBus
from arvis.domain.executions import PERSONAL_WAITS, Answer, Execution, ExecutionStatus, Wait
from arvis.domain.jobs import Job, NewJob
from arvis.graph import lifecycle
from arvis.graph.decisions import Graph
from arvis.graph.engine import Engine
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.testing.clock import SteppedClock

PLENTY = Slots(8, 7, 8)


class Cut(BaseException):
    """The process dies here. Not an `Exception`: nothing in the product may catch it."""


class CuttingStore:
    """A store that counts its writes, and whose n-th (`at`) never happens, or happens without its caller living to
    hear of it (`committed`)."""

    def __init__(self, store: Store, *, at: int, committed: bool) -> None:
        self._store = store
        self._at = at
        self._committed = committed
        self.writes = 0

    async def write(self, script: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.writes += 1
        if self.writes == self._at and not self._committed:
            raise Cut
        result = await self._store.write(script, *args, **kwargs)
        if self.writes == self._at:
            raise Cut
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@dataclass(slots=True)
class World:
    """What happened outside: it survives every crash."""

    happened: Counter[str] = field(default_factory=Counter)

    async def do(self, what: str) -> str:
        self.happened[what] += 1
        return f"{what} done"


def say_yes(wait: Wait, world: World) -> dict[str, Any]:
    """An honest person: approves, and says of an interrupted effect what is true."""
    if wait.subject is not None:
        text = "skip" if world.happened[wait.subject] else "run again"
        return {"decision": "answer", "text": text}
    world.happened["asked"] += 1
    return {"decision": "approve", "text": None}


@dataclass(frozen=True, slots=True)
class Scenario:
    """Graphs that act on a world. `once` names the effects that may never happen twice, whatever is cut."""

    name: str
    graphs: Callable[[World], Mapping[str, Graph]]
    start: str
    result: Any
    happens: Mapping[str, int]
    once: frozenset[str] = frozenset()
    people: Callable[[Wait, World], dict[str, Any]] = say_yes


class Stage:
    """One execution of a scenario on a real store, through as many deaths as it takes."""

    def __init__(self, *, store: Store, scenario: Scenario, world: World) -> None:
        self._store = store
        self._scenario = scenario
        self._world = world
        self._clock = SteppedClock()
        self._boots = 0
        self.execution_id = ""

    async def begin(self) -> None:
        self.execution_id = await self._store.write(_begin, self._scenario.start, self._clock.now())

    async def play(self, *, at: int = 0, committed: bool = False) -> int:
        """Run to the end, or to the cut; how many writes the engine made if it reached the end."""
        self._boots += 1
        boot = f"boot-{self._boots}"
        await self._store.write(_rescue, boot, self._clock.now())
        cutting = CuttingStore(self._store, at=at, committed=committed)
        engine = Engine(
            store=cast(Store, cutting),
            graphs=self._scenario.graphs(self._world),
            clock=self._clock,
            bus=EventBus(),
            new_id=lambda: uuid4().hex,
        )
        while (await self.execution()).status in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}:
            jobs = await self._store.write(_claim, boot, self._clock.now())
            for job in jobs:
                await engine.advance(job)
            if not jobs:
                await self._pass_time()
        return cutting.writes

    async def _pass_time(self) -> None:
        """Nobody can go on: people answer, or the clock moves to the next moment that matters."""
        waits = await self._store.read(_open_waits, self.execution_id)
        personal = [wait for wait in waits if wait.kind in PERSONAL_WAITS]
        for wait in personal:
            value = self._scenario.people(wait, self._world)
            await self._store.write(lifecycle.answer, wait.id, Answer(value, "person"), self._clock.now())
        if not personal:
            await self._clock.sleep(1)
        await self._store.write(_look, self._clock.now())

    async def execution(self) -> Execution:
        found = await self._store.read(lambda tx: tx.executions.get(self.execution_id))
        assert found is not None
        return found

    async def check(self, *, cuts: int) -> None:
        """What must be true at the end, however often it was cut."""
        execution = await self.execution()
        assert execution.status is ExecutionStatus.DONE, execution
        assert execution.result == self._scenario.result
        for effect, times in self._scenario.happens.items():
            allowed = times if effect in self._scenario.once else times + cuts
            assert times <= self._world.happened[effect] <= allowed, (effect, self._world.happened)
        assert await self._store.read(_leftovers, self.execution_id) == []


def _begin(tx: Transaction, graph: str, now: int) -> str:
    execution_id = tx.new_id()
    lane = f"execution:{execution_id}"
    lifecycle.begin(tx, execution_id, graph, {"seen": []}, lane=lane, priority=5, principal_id=None, now=now)
    tx.jobs.add(NewJob.advance(execution_id, lane, 5), now)
    return execution_id


def _claim(tx: Transaction, boot: str, now: int) -> list[Job]:
    return tx.jobs.claim(PLENTY, boot, "node", now, now + 30_000)


def _rescue(tx: Transaction, boot: str, now: int) -> None:
    tx.jobs.rescue("node", boot, now)


def _look(tx: Transaction, now: int) -> None:
    tx.jobs.wake(now)
    lifecycle.expire(tx, now)


def _family(tx: Transaction, execution_id: str) -> list[str]:
    """The execution and all that it called."""
    children = [one for child in tx.executions.children_of(execution_id) for one in _family(tx, child.id)]
    return [execution_id, *children]


def _open_waits(tx: Transaction, execution_id: str) -> list[Wait]:
    waits = [wait for each in _family(tx, execution_id) for wait in tx.waits.of_execution(each)]
    return [wait for wait in waits if wait.answered_at is None]


def _leftovers(tx: Transaction, execution_id: str) -> list[str]:
    """Anything that still waits, runs, asks or stands somewhere, and any gap in a history."""
    left = [wait.id for wait in _open_waits(tx, execution_id)]
    for each in _family(tx, execution_id):
        left += [cursor.id for cursor in tx.executions.cursors(each)]
        left += [job.id for job in tx.jobs.live_of_execution(each)]
    return left
