"""The end of a queue: running jobs may end in time, others are handed back, and no job counts a crash."""

from __future__ import annotations

import asyncio

import pytest

from arvis.domain.jobs import (
    JobStatus,
)
from arvis.ports.store import Store
from tests.conformance.databases import NOW
from tests.conformance.queue_kit import (
    NODE,
    PATIENCE,
    Gate,
    HandClock,
    ToldHandler,
    add,
    at_once,
    job_of,
    make_queue,
    message,
    running,
    until,
)


async def _ran(handler: ToldHandler) -> bool:
    return bool(handler.runs)


# -- the end ------------------------------------------------------------------------------------------------


async def test_a_drain_waits_for_what_runs(store: Store, clock: HandClock) -> None:
    gate = Gate()
    queue = make_queue(store, clock, ToldHandler(store, clock, gate.work))
    await queue.start()
    first, second = [await add(store, message("a")) for _ in range(2)]
    await gate.next()
    stopping = asyncio.create_task(queue.stop(PATIENCE))
    await asyncio.sleep(0)
    gate.go.set()
    await asyncio.wait_for(stopping, PATIENCE)
    assert (await job_of(store, first)).status is JobStatus.DONE
    assert (await job_of(store, second)).status is JobStatus.PENDING
    assert gate.begun.empty()


async def test_a_drain_hands_back_what_does_not_end(store: Store, clock: HandClock) -> None:
    gate = Gate()
    queue = make_queue(store, clock, ToldHandler(store, clock, gate.work))
    await queue.start()
    job_id = await add(store, message())
    await gate.next()
    await queue.stop(0)
    job = await job_of(store, job_id)
    assert (job.status, job.attempts, job.crashes, job.reason) == (JobStatus.PENDING, 0, 0, "handed_back")
    assert gate.cancelled == [job_id]


@pytest.mark.parametrize("turns", range(12))
async def test_a_stop_at_any_moment_leaves_nothing_running(store: Store, clock: HandClock, turns: int) -> None:
    """Jobs may be claimed and not begun, on their way from the writer, or half settled; none counts a crash."""
    queue = make_queue(store, clock, ToldHandler(store, clock, at_once))
    await queue.start()
    adding = [asyncio.create_task(add(store, message(f"lane-{n % 9}"))) for n in range(40)]
    for _ in range(turns * 2):
        await asyncio.sleep(0)
    await queue.stop(0)
    ids = await asyncio.gather(*adding)
    jobs = [await job_of(store, job_id) for job_id in ids]
    assert {job.status for job in jobs} <= {JobStatus.PENDING, JobStatus.DONE}
    assert {(job.attempts, job.crashes) for job in jobs} == {(0, 0)}
    assert await store.write(lambda tx: tx.jobs.rescue(NODE, "next boot", NOW)) == []


async def test_a_stopped_queue_starts_nothing(store: Store, clock: HandClock) -> None:
    handler = ToldHandler(store, clock, at_once)
    async with running(make_queue(store, clock, handler)):
        pass
    await add(store, message())
    assert not handler.runs
    async with running(make_queue(store, clock, handler, boot="boot-2")):
        await until(lambda: _ran(handler))
