"""The queue at run time: starts what was claimed, renews leases, keeps the one timer, drains.

It never polls for work: a commit that adds or settles jobs brings the claim with it (`SlotKeeper`), one timer waits
for the soonest `run_at` or deadline, and a sweep every ten seconds renews leases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import (
    POISON_CRASHES,
    Failed,
    GiveUp,
    HandedBack,
    Job,
    JobKind,
    Retry,
    Settled,
    Snooze,
    TryAgain,
    Verdict,
)
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.queue.policy import POISON_TEXT, RetryPolicy
from arvis.queue.slots import SlotKeeper

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 10.0
LOOK_SECONDS = 5.0
DRAIN_SECONDS = 25.0
PRUNE_SLICE = 500


class Handler(Protocol):
    """Does the work of one kind of job."""

    async def run(self, job: Job) -> Verdict:
        """Do it. `Settled` when the end was committed with the results, else what should become of it."""
        ...

    def postponed(self, tx: Transaction, job: Job, outcome: Retry | Snooze | Failed, now: int) -> None:
        """In the commit that postpones or fails the job: what else must be written (a notice, a note)."""
        ...

    async def announce(self, job: Job, outcome: Retry | Snooze | Failed) -> None:
        """After that commit: tell whoever waits."""
        ...


class Queue:
    """Runs jobs until it is stopped. `expire(tx, now)` answers questions whose deadline has come."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        policy: RetryPolicy,
        handlers: Mapping[JobKind, Handler],
        expire: Callable[[Transaction, int], None],
        workers: int,
        delivery_workers: int,
        lease_seconds: float,
        boot: str,
        node: str,
        keep_finished_ms: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._policy = policy
        self._handlers = handlers
        self._expire = expire
        self._boot = boot
        self._node = node
        self._lease_ms = int(lease_seconds * 1000)
        self._keep_finished_ms = keep_finished_ms
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._jobs: dict[str, Job] = {}
        self._unfinished: list[Job] = []
        self._duties: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._draining = False
        self._slots = SlotKeeper(
            workers=workers,
            delivery_workers=delivery_workers,
            owner=boot,
            node=node,
            lease_ms=self._lease_ms,
            clock=clock,
            start=partial(self._on_loop, self._start),
            due=partial(self._on_loop, self._set_timer),
            missed=partial(self._on_loop, self.look),
        )

    # -- life ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take back what an earlier boot left running, then claim."""
        rescued = await self._store.write(_rescue, self._node, self._boot, self._clock.now())
        if rescued:
            log.warning("recovered", jobs=len(rescued), why="the process that ran them died")
        self._store.attend(self._slots)
        await self._tick()
        self._duties = [asyncio.create_task(self._sweep()), asyncio.create_task(self._prune())]
        if self._store.shared:
            self._duties.append(asyncio.create_task(self._listen()))

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Claim no more, give what runs its time, hand the rest back without counting an attempt."""
        self._draining = True
        self._store.attend(None)
        if self._timer is not None:
            self._timer.cancel()
        await _end(self._duties)
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=drain_seconds)
        await _end(list(self._tasks.values()))
        await self._store.write(_hand_back, self._unfinished, self._clock.now())

    def abandon(self, job_id: str) -> None:
        """Stop the task of a job that was cancelled in the store."""
        if (task := self._tasks.get(job_id)) is not None:
            task.cancel()

    def look(self) -> None:
        """Claim what can be claimed, in a commit of its own."""
        if not self._draining:
            self._keep(asyncio.create_task(self._tick()))

    # -- one job -------------------------------------------------------------------------------------------

    def _start(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._draining:
                self._unfinished.append(job)
                continue
            self._jobs[job.id] = job
            task = asyncio.create_task(self._execute(job), name=f"{job.kind}:{job.id}")
            self._tasks[job.id] = task
            task.add_done_callback(partial(self._ended, job.id))

    def _ended(self, job_id: str, _: asyncio.Task[None]) -> None:
        self._tasks.pop(job_id, None)
        self._jobs.pop(job_id, None)
        if self._slots.release(job_id):
            self.look()

    async def _execute(self, job: Job) -> None:
        try:
            verdict = await self._run(job)
            if not isinstance(verdict, Settled):
                await self._postpone(job, self._policy.outcome(job, verdict, self._clock.now()))
        except LeaseLost:
            log.info("lease_lost", job=job.id, kind=job.kind)
        except asyncio.CancelledError:
            if self._draining:
                self._unfinished.append(job)
            raise
        except Exception:
            log.exception("job_not_settled", job=job.id, kind=job.kind)

    async def _postpone(self, job: Job, outcome: Retry | Snooze | Failed) -> None:
        handler = self._handlers.get(job.kind)
        await self._store.write(_postpone, job, outcome, handler, self._clock.now())
        if handler is not None:
            await handler.announce(job, outcome)

    async def _run(self, job: Job) -> Verdict:
        if job.crashes >= POISON_CRASHES:
            return GiveUp("poison", POISON_TEXT)
        if (handler := self._handlers.get(job.kind)) is None:
            return GiveUp("unknown_kind", f"nothing here runs jobs of kind {job.kind}")
        try:
            return await handler.run(job)
        except LeaseLost:
            raise
        except Exception as error:
            log.exception("job_failed", job=job.id, kind=job.kind)
            return TryAgain(f"{type(error).__name__}: {error}")

    # -- duties --------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        """Wake heads whose time has come, answer expired questions, claim, and set the timer anew."""
        due = await self._store.write(_wake, self._expire, self._clock.now())
        if due is not None:
            self._set_timer(due)

    def _set_timer(self, at: int) -> None:
        when = self._loop.time() + max(0, at - self._clock.now()) / 1000
        if self._draining or (self._timer is not None and self._timer.when() <= when and not self._timer.cancelled()):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.look()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(SWEEP_SECONDS)
            await self._renew()
            if self._store.shared:
                rescued = await self._store.write(_rescue, self._node, self._boot, self._clock.now())
                if rescued:
                    self.look()

    async def _renew(self) -> None:
        """Renew every lease in one write; stop the tasks of those that were taken away."""
        asked = list(self._jobs)
        if asked:
            held = await self._store.write(_extend, asked, self._boot, self._clock.now() + self._lease_ms)
            for job_id in set(asked) - held:
                self.abandon(job_id)

    async def _listen(self) -> None:
        """Other processes add work too: their notice, or a look every few seconds against a lost one."""
        while True:
            await self._store.wait_for_change(LOOK_SECONDS)
            await self._tick()

    async def _prune(self) -> None:
        while True:
            before = self._clock.now() - self._keep_finished_ms
            while await self._store.write(_prune, before) == PRUNE_SLICE:
                await self._clock.sleep(0.05)
            await self._clock.sleep(3600)

    def _on_loop(self, call: Callable[..., None], *args: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._duties.append(task)
        task.add_done_callback(self._duties.remove)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# -- scripts -----------------------------------------------------------------------------------------------


def _rescue(tx: Transaction, node: str, boot: str, now: int) -> list[Job]:
    rescued = tx.jobs.rescue(node, boot, now)
    for job in rescued:
        if job.message_id is not None:
            tx.timeline.note([job.message_id], "recovered", {"job": job.id, "crashes": job.crashes}, now)
    return rescued


def _wake(tx: Transaction, expire: Callable[[Transaction, int], None], now: int) -> int | None:
    tx.jobs.wake(now)
    expire(tx, now)
    due = [at for at in (tx.jobs.next_due(), tx.waits.next_due()) if at is not None]
    return min(due, default=None)


def _extend(tx: Transaction, job_ids: Sequence[str], owner: str, lease_until: int) -> set[str]:
    return tx.jobs.extend(job_ids, owner, lease_until)


def _postpone(tx: Transaction, job: Job, outcome: Retry | Snooze | Failed, handler: Handler | None, now: int) -> None:
    if not tx.jobs.settle(job, outcome, now):
        raise LeaseLost("The job was taken away while it ran")
    if handler is not None:
        handler.postponed(tx, job, outcome, now)


def _hand_back(tx: Transaction, jobs: Sequence[Job], now: int) -> None:
    for job in jobs:
        tx.jobs.settle(job, HandedBack(), now)


def _prune(tx: Transaction, before: int) -> int:
    return tx.jobs.prune(before, PRUNE_SLICE)
