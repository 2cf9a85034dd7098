"""The shared database of several processes is down while they work: no job counts an attempt or a crash."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from arvis.domain.jobs import JobStatus
from arvis.process.clock import SystemClock
from arvis.queue.outages import RetryingStore
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.conformance.queue_kit import Gate, ToldHandler, add, ended, make_queue, message, running
from tests.parts import require
from tests.unsteady_postgres import unsteady_postgres

#: In seconds. The outage lasts longer than several leases.
LEASE, OUTAGE = 0.6, 2.0


async def test_an_outage_longer_than_a_lease_costs_no_job_an_attempt_or_a_crash(tmp_path: Path) -> None:
    clock, gate = SystemClock(), Gate()
    with unsteady_postgres(require("initdb"), durable=True) as unsteady, unsteady.server.database("outage") as url:
        database = Database(tmp_path / "none.db", url, tmp_path)
        async with AsyncExitStack() as stack:
            stores = [await stack.enter_async_context(opened(database, boot)) for boot in ("boot-1", "boot-2")]
            handlers = [ToldHandler(RetryingStore(store=store, clock=clock), clock, gate.work) for store in stores]
            for number, (store, handler) in enumerate(zip(stores, handlers, strict=True), 1):
                queue = make_queue(
                    store,
                    clock,
                    handler,
                    boot=f"boot-{number}",
                    node=f"node-{number}",
                    workers=3,
                    lease_seconds=LEASE,
                )
                await stack.enter_async_context(running(queue))
            jobs = [await add(stores[0], message(f"lane-{number % 5}"), clock.now()) for number in range(10)]
            for _ in range(5):
                await gate.next()
            await asyncio.to_thread(unsteady.kill)
            await asyncio.sleep(OUTAGE)
            gate.go.set()  # the jobs end now, but their results cannot be written
            await asyncio.sleep(LEASE)
            await asyncio.to_thread(unsteady.start)
            settled = [await ended(RetryingStore(store=stores[0], clock=clock), job) for job in jobs]
    assert [(job.status, job.attempts, job.crashes) for job in settled] == [(JobStatus.DONE, 0, 0)] * 10
    assert (handlers[0].runs + handlers[1].runs) == dict.fromkeys(jobs, 1)
    assert handlers[0].outcomes == handlers[1].outcomes == []
