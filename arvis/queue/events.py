"""Publishes the begin and the end of a job on the bus, for pages that show the queue."""

from __future__ import annotations

from arvis.domain.changes import ChangeTopic
from arvis.domain.events import Changed
from arvis.domain.jobs import Job, JobResult, Unfinished
from arvis.ports.bus import Bus
from arvis.ports.store import Transaction
from arvis.queue.queue import Handler


class Noticed:
    """A `Handler` around another one."""

    def __init__(self, *, handler: Handler, bus: Bus) -> None:
        self._handler = handler
        self._bus = bus

    async def run(self, job: Job) -> JobResult:
        self._tell(job)
        try:
            return await self._handler.run(job)
        finally:
            self._tell(job)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self._handler.postponed(tx, job, outcome, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        self._tell(job)
        await self._handler.announce(job, outcome)

    def _tell(self, job: Job) -> None:
        self._bus.publish(Changed(ChangeTopic.JOBS, job.id))
