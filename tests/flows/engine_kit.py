"""A small harness for the engine: scenarios, a store that dies at a chosen commit, and a driver that starts again.

The driver does the queue's work (claim, run, postpone, rescue) without its tasks, so that every commit of a scenario
can be counted and cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast
from uuid import uuid4

from arvis.bus import EventBus
from arvis.domain.errors import LeaseLost
from arvis.domain.executions import PERSONAL_WAITS, Answer, Execution, ExecutionStatus, Wait
from arvis.domain.jobs import Done, Job, JobResult, NewJob, Retry
from arvis.engine import lifecycle
from arvis.engine.engine import RUN_AGAIN, SKIP, Engine
from arvis.engine.graph import Graph, Node
from arvis.engine.lifecycle import Drawn
from arvis.message_flow import MessageFlow
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from arvis.queue.queue import RetryPolicy
from arvis.store.postgres.store import PostgresStore
from arvis.testing.clock import SteppedClock
from tests.parts import LONG

PLENTY = Slots(8, 7, 8)
#: A scenario that has not ended after this many rounds never ends.
ROUNDS = 200

Graphs = Mapping[str, Graph]


class Cut(BaseException):
    """The death of the process. It is no `Exception`, so that no code of the product can catch it."""


@dataclass(frozen=True, slots=True)
class Death:
    """The write at which a process dies: before that commit, or after it without receiving the result."""

    at: int
    committed: bool


def deaths(commits: int, store: Store | None = None) -> Sequence[Death]:
    """Return the deaths before and after each commit of a process that would make this many commits. On PostgreSQL, the
    short form of a test covers a sixth of them, because the engine is the same on both databases."""
    assert commits > 0
    found = [Death(at, committed=committed) for at in range(1, commits + 1) for committed in (False, True)]
    return found[commits % 6 :: 6] if isinstance(store, PostgresStore) and not LONG else found


class CuttingStore:
    """A store that counts its writes and dies once. After its death nothing more is written."""

    def __init__(self, store: Store, death: Death | None) -> None:
        self._store = store
        self._death = death
        self._dead = False
        self.writes = 0

    async def write(self, script: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.writes += 1
        if self._death is None or (self.writes < self._death.at and not self._dead):
            return await self._store.write(script, *args, **kwargs)
        if self._death.committed and not self._dead:
            self._dead = True
            with suppress(LeaseLost):  # a dead process ignores that error, too
                await self._store.write(script, *args, **kwargs)
        self._dead = True
        raise Cut

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@dataclass(slots=True)
class World:
    """The external world, which survives every crash. `meant` maps the label of an effect to another name of its event.
    `cancel` lets a person stop everything."""

    happened: Counter[str] = field(default_factory=Counter)
    meant: dict[str, str] = field(default_factory=dict)
    cancel: Callable[[], Awaitable[None]] | None = None

    async def do(self, what: str) -> str:
        self.happened[what] += 1
        return f"{what} done"

    async def stop(self) -> None:
        if self.cancel is not None:
            await self.cancel()


def say_yes(wait: Wait, world: World) -> dict[str, Any] | None:
    """Answer as an honest person: approve, and report the truth about an interrupted effect."""
    if wait.subject is not None:
        happened = world.happened[world.meant.get(wait.subject, wait.subject)]
        return {"decision": "answer", "text": SKIP if happened else RUN_AGAIN}
    world.happened["asked"] += 1
    return {"decision": "approve", "text": None}


def say_nothing(_wait: Wait, _world: World) -> None:
    """Give no answer."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Graphs that act on a world. `later` are the graphs of every process after the first one. `results` are the
    allowed results.

    `happens` lists events with their minimum counts and `once` events with exact counts, both for any cuts. `people`
    answers the questions (None: no question is answered).
    """

    name: str
    graphs: Callable[[World], Graphs]
    results: Sequence[Any]
    happens: Mapping[str, int]
    once: Collection[str] = ()
    people: Callable[[Wait, World], dict[str, Any] | None] = say_yes
    later: Callable[[World], Graphs] | None = None
    status: ExecutionStatus = ExecutionStatus.DONE


class Stage:
    """One execution of a scenario on a real store, through any number of deaths."""

    def __init__(self, *, store: Store, scenario: Scenario, world: World | None = None) -> None:
        self._store = store
        self._scenario = scenario
        self.world = world or World()
        self.world.cancel = self._cancel
        self._clock = SteppedClock()
        self._boots = 0
        self.execution_id = ""

    async def begin(self) -> None:
        self.execution_id = await self._store.write(_begin, self._clock.now())

    async def play(self, death: Death | None = None) -> int:
        """Run to the end or to the death, and return the number of writes of a process that reached the end."""
        self._boots += 1
        boot = f"boot-{self._boots}"
        await self._store.write(queue.rescue, "node", boot, self._clock.now())
        store = CuttingStore(self._store, death)
        work = self._worker(cast(Store, store))
        for _ in range(ROUNDS):
            jobs = await self._store.write(claim, boot, self._clock.now())
            for job in jobs:
                await work(job)
            if not jobs and await self._is_over():
                return store.writes
            if not jobs:
                await self._pass_time()
        raise AssertionError(f"{self._scenario.name} does not end: {await self.execution()}")

    def _worker(self, store: Store) -> Callable[[Job], Awaitable[None]]:
        later = self._scenario.later if self._boots > 1 else None
        engine = Engine(
            store=store,
            graphs=(later or self._scenario.graphs)(self.world),
            clock=self._clock,
            bus=EventBus(),
            new_id=lambda: uuid4().hex,
            drawn=self._drawn(store),
        )
        flow = MessageFlow(store=store, engine=engine, bus=EventBus(), clock=self._clock)
        policy = RetryPolicy(max_attempts=3, unit_ms=1000, random=lambda: 0.0)
        return partial(_work, flow=flow, store=store, policy=policy, now=self._clock.now)

    def _drawn(self, _store: Store) -> Drawn | None:
        """Return the finder of workflow graphs; there are none here."""
        return None

    async def _is_over(self) -> bool:
        return (await self.execution()).status not in lifecycle.LIVE

    async def _pass_time(self) -> None:
        """Nothing can continue: let people answer, or move the clock to the next relevant time."""
        waits = await self._store.read(_open_waits, self.execution_id)
        asked = {wait.id: self._scenario.people(wait, self.world) for wait in waits if wait.kind in PERSONAL_WAITS}
        answers = {wait_id: value for wait_id, value in asked.items() if value is not None}
        for wait_id, value in answers.items():
            await self._store.write(lifecycle.answer, wait_id, Answer(value, "person"), self._clock.now())
        if not answers:
            await self._clock.sleep(1)
        await self._store.write(queue.wake, lifecycle.expire, self._clock.now())

    async def _cancel(self) -> None:
        await self._store.write(lifecycle.cancel, self.execution_id, self._clock.now())

    async def execution(self) -> Execution:
        found = await self._store.read(lambda tx: tx.executions.get(self.execution_id))
        assert found is not None
        return found

    async def check(self, *, cuts: int) -> None:
        """Check the conditions at the end, which hold for any number of cuts."""
        execution = await self.execution()
        assert execution.status is self._scenario.status, execution
        assert execution.result in self._scenario.results, execution.result
        for effect, times in self._scenario.happens.items():
            allowed = times if effect in self._scenario.once else times + cuts
            assert times <= self.world.happened[effect] <= allowed, (effect, self.world.happened)
        assert await self._store.write(_leftovers, self.execution_id) == []
        asked = await self._store.read(_asked_about, self.execution_id)
        assert all(times <= cuts for times in asked.values()), f"asked again about {asked}"


async def _work(job: Job, *, flow: MessageFlow, store: Store, policy: RetryPolicy, now: Callable[[], int]) -> None:
    """Do what the queue does with a claimed job."""
    try:
        verdict: JobResult = await flow.run(job)
    except LeaseLost:
        return
    except ValueError as error:  # the queue's boundary also catches every error of a node
        verdict = Retry(str(error))
    if not isinstance(verdict, Done):
        await store.write(queue.postpone, job, policy.scheduled(job, verdict, now()), flow.postponed, now())


def _begin(tx: Transaction, now: int) -> str:
    execution_id = tx.new_id()
    lane = f"execution:{execution_id}"
    lifecycle.begin(tx, execution_id, "main", {"seen": []}, lane=lane, priority=5, principal_id=None, now=now)
    tx.jobs.add(NewJob.advance(execution_id, lane, 5), now)
    return execution_id


def claim(tx: Transaction, boot: str, now: int) -> list[Job]:
    return tx.jobs.claim(PLENTY, boot, "node", now, now + 30_000)


def family(tx: Transaction, execution_id: str) -> list[str]:
    """Return the execution and all executions that it called, directly or not."""
    children = [one for child in tx.executions.children_of(execution_id) for one in family(tx, child.id)]
    return [execution_id, *children]


def _open_waits(tx: Transaction, execution_id: str) -> list[Wait]:
    waits = [wait for each in family(tx, execution_id) for wait in tx.waits.of_execution(each)]
    return [wait for wait in waits if wait.answered_at is None]


def _asked_about(tx: Transaction, execution_id: str) -> Counter[str]:
    """Return the number of questions of the engine about each effect: at most one per death."""
    waits = [wait for each in family(tx, execution_id) for wait in tx.waits.of_execution(each)]
    return Counter(wait.subject for wait in waits if wait.subject is not None)


def _leftovers(tx: Transaction, execution_id: str) -> list[str]:
    """Return everything that still waits, runs, asks or has a position."""
    left = [wait.id for wait in _open_waits(tx, execution_id)]
    for each in family(tx, execution_id):
        execution = tx.executions.get(each)
        if execution is None or execution.status in lifecycle.LIVE:
            left.append(each)
        elif execution.status is not ExecutionStatus.FAILED:
            left += [cursor.id for cursor in tx.executions.cursors(each)]
        left += [job.id for job in tx.jobs.live_of_execution(each)]
    return left


def graphs(*some: Graph) -> Graphs:
    return {graph.name: graph for graph in some}


def nodes(*some: Any) -> dict[str, Node]:
    return {node.__name__: node for node in some}
