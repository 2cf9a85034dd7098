"""Handle jobs of schedules and web hooks: runs go to the engine, scripts to `ScriptRunner`."""

from __future__ import annotations

from arvis.domain.jobs import Fail, Job, JobResult, Unfinished
from arvis.domain.schedules import OccurrenceStatus
from arvis.ports.store import Transaction
from arvis.queue.queue import Handler
from arvis.services import schedule_runs


class ScheduleHandler:
    """Implements `Handler` for jobs of kind `cron`, `heartbeat` and `webhook`. `runs` handles those that have an
    execution. `scripts` handles the others, whose payload is `{"schedule": id, "due": ms, "occurrence": id}`; it ends
    the occurrence in the commit that settles the job (`schedule_runs.end`), or lets the agent continue it
    (`beginning.trigger`)."""

    def __init__(self, *, runs: Handler, scripts: Handler) -> None:
        self._runs = runs
        self._scripts = scripts

    async def run(self, job: Job) -> JobResult:
        return await self._handler_of(job).run(job)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self._handler_of(job).postponed(tx, job, outcome, now)
        if job.execution_id is not None or not isinstance(outcome, Fail):
            return
        occurrence = tx.occurrences.get(str(job.payload.get("occurrence", "")))
        if occurrence is not None:
            schedule_runs.end(tx, occurrence, OccurrenceStatus.FAILED, outcome.error, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        await self._handler_of(job).announce(job, outcome)

    def _handler_of(self, job: Job) -> Handler:
        return self._runs if job.execution_id is not None else self._scripts
