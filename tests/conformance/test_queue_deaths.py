"""Processes that die repeatedly, for their own reasons or because of one job."""

from __future__ import annotations

from arvis.domain.jobs import POISON, POISON_CRASHES, SUSPECT_CRASHES, Done, Fail, Job, JobStatus, Settlement
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from tests.conformance.databases import NOW
from tests.conformance.queue_kit import NODE, HandClock, ToldHandler, add, at_once, job_of, make_queue, message, running

#: The interval (ms) at which a process of these tests looks for work.
LOOK_MS = 100


class Life:
    """One process and the jobs that it holds, until it dies."""

    def __init__(self, store: Store, number: int, now: int) -> None:
        self.store = store
        self.boot = f"boot-{number}"
        self.now = now
        self.held: list[Job] = []

    async def begin(self) -> None:
        await self.store.write(queue.begin, NODE, self.boot, self.now)

    async def look(self) -> list[Job]:
        """Start the claimable jobs and return them. End a job as poison if it was part of too many crashes."""
        begun = []
        for job in await self.store.write(self._claim):
            if job.crashes >= POISON_CRASHES:
                await self.store.write(_settle, job, Fail(POISON, ""), self.now)
            else:
                begun.append(job)
        self.held += begun
        self.now += LOOK_MS
        return begun

    async def finish(self, job: Job) -> None:
        self.held.remove(job)
        assert await self.store.write(_settle, job, Done(), self.now)

    def _claim(self, tx: Transaction) -> list[Job]:
        queue.wake(tx, lambda _tx, _now: None, self.now)
        return tx.jobs.claim(Slots(5, 5, 5), self.boot, NODE, self.now, self.now + 30_000)


def _settle(tx: Transaction, job: Job, outcome: Settlement, now: int) -> bool:
    return tx.jobs.settle(job, outcome, now)


async def _lives(store: Store, slow: str, *, length: int, count: int, busy: bool) -> Life:
    """Run `count` processes that die `length` ms after their start, while the slow job takes longer.

    Return a last process, which does not die.
    """
    now, life = NOW, None
    for number in range(count):
        life = Life(store, number, now)
        await life.begin()
        if busy:
            await add(store, message(f"quick-{number}"))
        while life.now < now + length:
            for job in await life.look():
                if job.id != slow and life.now < now + length:
                    await life.finish(job)
        now = life.now
    assert life is not None
    life = Life(store, count, now)
    await life.begin()
    return life


async def _end_of(life: Life, slow: str) -> Job:
    job = await job_of(life.store, slow)
    while job.status not in {JobStatus.DONE, JobStatus.FAILED}:
        for begun in await life.look():
            await life.finish(begun)
        job = await job_of(life.store, slow)
    return job


async def test_a_job_that_takes_longer_than_every_life_is_done_by_the_first_that_is_long_enough(store: Store) -> None:
    slow = await add(store, message("slow"))
    life = await _lives(store, slow, length=700, count=60, busy=True)
    assert (await _end_of(life, slow)).status is JobStatus.DONE


async def test_so_it_is_where_nothing_else_is_to_do(store: Store) -> None:
    slow = await add(store, message("slow"))
    life = await _lives(store, slow, length=10_000, count=12, busy=False)
    assert (await _end_of(life, slow)).status is JobStatus.DONE


async def test_a_job_that_kills_each_process_ends_after_five_deaths(store: Store) -> None:
    """Other jobs, orderly restarts and long-lived processes in between do not change this."""
    poison = await add(store, message("poison"))
    now, deaths, answered = NOW, 0, 0
    life = Life(store, 0, now)
    for number in range(100):
        life = Life(store, number, now)
        await life.begin()
        await add(store, message(f"quick-{number}"))
        begun = await life.look()
        while poison not in {job.id for job in begun} and (await job_of(store, poison)).status is not JobStatus.FAILED:
            for job in begun:
                await life.finish(job)
                answered += 1
            begun = await life.look()
        if poison not in {job.id for job in begun}:
            break
        deaths, now = deaths + 1, life.now
    ended = await job_of(store, poison)
    assert (ended.status, ended.reason, deaths) == (JobStatus.FAILED, POISON, POISON_CRASHES)
    assert (await _end_of(life, poison)).id == poison
    assert answered >= POISON_CRASHES - SUSPECT_CRASHES


async def test_an_orderly_end_is_no_death(store: Store, clock: HandClock) -> None:
    slow = await add(store, message("slow"))
    now = NOW
    for number in range(POISON_CRASHES - 1):
        life = Life(store, number, now)
        await life.begin()
        while not await life.look():
            pass
        now = life.now
    life = Life(store, POISON_CRASHES, now)
    await life.begin()
    clock.move((now - NOW) / 1000)
    for boot in ("orderly", "another"):
        async with running(make_queue(store, clock, ToldHandler(store, clock, at_once), boot=boot)):
            pass
    assert (await job_of(store, slow)).crashes == POISON_CRASHES - 2
