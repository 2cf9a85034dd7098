"""The queue at run time: it starts claimed jobs, retries failed jobs, renews leases, and waits for running jobs when it
is stopped.

A process finds its own work without polling. A commit that adds or settles jobs also claims the next jobs (`SlotPool`).
One timer waits for the next `run_at` or deadline. On a shared database, the process also looks for the work of other
processes at least every `LOOK_SECONDS`. A sweep renews the leases at least every `SWEEP_SECONDS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol

import structlog

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import DatabaseAway, LeaseLost, StoreError, Unavailable
from arvis.domain.events import Changed
from arvis.domain.jobs import (
    POISON,
    POISON_CRASHES,
    Done,
    Fail,
    Job,
    JobKind,
    JobResult,
    Released,
    Retry,
    Snooze,
    Unfinished,
)
from arvis.domain.messages import Delivery
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.queue.outages import PAUSE_SECONDS, RETRY_SECONDS, Contact, RetryingStore
from arvis.queue.slots import SlotPool

#: The error of a job whose process has crashed `POISON_CRASHES` times while it ran.
POISON_TEXT = "Job timed out — process likely crashed"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The rule for attempts after errors: after the n-th error, the next attempt follows after 2^n times `unit_ms`,
    plus a random 0–10 %. `random` returns numbers from 0 to 1."""

    max_attempts: int
    unit_ms: int
    random: Callable[[], float]

    def scheduled(self, job: Job, result: Unfinished, now: int) -> Unfinished:
        """Return the result in its stored form. A `Retry` gets the time of the next attempt. After the last attempt, a
        `Retry` becomes a `Fail`."""
        if not isinstance(result, Retry):
            return result
        failures = job.attempts + 1
        if failures >= self.max_attempts:
            return Fail("attempts", result.error)
        delay = 2**failures * self.unit_ms * (1 + 0.1 * self.random())
        return replace(result, run_at=now + int(delay))


# The queue's transaction scripts.


Postponed = Callable[[Transaction, Job, Unfinished, int], None]

#: Writes further rows for jobs that are taken back from a dead process. It is also called with an empty list.
Rescued = Callable[[Transaction, Sequence[Job], int], None]


def no_more(_tx: Transaction, _jobs: Sequence[Job], _now: int) -> None:
    """Write nothing: the default for `Rescued`, if the jobs of a dead process need no further rows."""


def begin(tx: Transaction, node: str, boot: str, now: int, also: Rescued = no_more, *, judge: bool = True) -> list[Job]:
    """Store that this process is running, and take back the jobs of dead processes, such as the previous process of
    this data folder."""
    key = _process_key(node)
    died = tx.kv.get(key) or ""
    tx.kv.put(key, boot, now)
    return rescue(tx, node, boot, now, also, judge=judge, died=died)


def rescue(
    tx: Transaction, node: str, boot: str, now: int, also: Rescued = no_more, *, judge: bool = True, died: str = ""
) -> list[Job]:
    """Take back the jobs of dead processes, and return these jobs. If `judge` is False, the jobs of processes with
    other data folders stay with their processes even if the leases have expired, because no process could renew its
    leases during an outage. `died` is the boot of the previous process of this data folder if that process did not stop
    in an orderly way."""
    rescued = tx.jobs.rescue(node, boot, now, judge=judge, died=died)
    also(tx, rescued, now)
    for job in rescued:
        if job.message_id is not None:
            tx.timeline.note([job.message_id], "recovered", {"job": job.id, "crashes": job.crashes}, now)
    return rescued


def wake(tx: Transaction, expire: Callable[[Transaction, int], None], now: int) -> int | None:
    tx.jobs.hold_suspects(now)
    tx.jobs.wake(now)
    expire(tx, now)
    due = [at for at in (tx.jobs.next_due(), tx.waits.next_due()) if at is not None]
    return min(due, default=None)


def renew(
    tx: Transaction,
    job_ids: Sequence[str],
    node: str,
    boot: str,
    *,
    now: int,
    lease_until: int,
    judge: bool = True,
    also: Rescued = no_more,
) -> tuple[set[str], list[Job]]:
    """Renew the leases of these jobs, then take back the jobs of dead processes. Return the ids of the renewed jobs,
    and the jobs that were taken back."""
    held = tx.jobs.extend(job_ids, boot, lease_until)
    return held, rescue(tx, node, boot, now, also, judge=judge)


def postpone(tx: Transaction, job: Job, outcome: Unfinished, also: Postponed | None, now: int) -> None:
    if not tx.jobs.settle(job, outcome, now):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    if also is not None:
        also(tx, job, outcome, now)


def hand_back(tx: Transaction, node: str, jobs: Sequence[Job], now: int) -> None:
    """Release the jobs of this process, and store that it has stopped in an orderly way."""
    tx.kv.put(_process_key(node), "", now)
    tx.jobs.lock([job.lane for job in jobs])
    for job in jobs:
        tx.jobs.settle(job, Released(), now)


def _process_key(node: str) -> str:
    """Return the key of the key-value that contains the id of the boot that runs on this node. The value is empty after
    an orderly stop, and after another process has cleared it (`forget_dead_processes`)."""
    return f"process:{node}"


log = structlog.get_logger(__name__)

SWEEP_SECONDS = 10.0
LOOK_SECONDS = 5.0
#: The maximum time (s) for which a stop of the queue waits for running jobs. Then the queue waits for the results of
#: its last claims, and returns its unfinished jobs to the database. Each of these two steps takes at most
#: `HAND_BACK_SECONDS`, so a stop takes at most 26 seconds.
DRAIN_SECONDS = 24.0
HAND_BACK_SECONDS = 1.0
LONGEST_TIMER_SECONDS = 60.0


class Handler(Protocol):
    """The interface of the code that does one kind of job."""

    async def run(self, job: Job) -> JobResult:
        """Do the work and return its result. A handler that returns `Done` has committed the end of the job together
        with its results; the queue commits every other result."""
        ...

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        """Write further rows, such as a notice, in the commit that postpones or fails the job."""
        ...

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        """Publish the result after the commit that postponed or failed the job."""
        ...


class Queue:
    """The queue of one process, which runs jobs until it is stopped. `expire(tx, now)` answers questions whose deadline
    has passed. `rescued(tx, jobs, now)` is a part of each commit that takes back jobs of dead processes. `sent` shows
    deliveries that a commit has stored as sent, so that they need no job. `changed` announces the topics of data that a
    commit has changed."""

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
        rescued: Rescued = no_more,
        sent: Callable[[Sequence[Delivery]], None] = lambda _: None,
        changed: Callable[[Collection[str]], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._patient = RetryingStore(store=store, clock=clock)
        self._contact = Contact(clock=clock)
        self._clock = clock
        self._policy = policy
        self._handlers = handlers
        self._expire = expire
        self._boot = boot
        self._rescued = rescued
        self._node = node
        self._lease_ms = int(lease_seconds * 1000)
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._unfinished: dict[str, Job] = {}
        self._duties: set[asyncio.Task[None]] = set()
        self._failure: asyncio.Future[None] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._draining = False
        self._slots = SlotPool(
            workers=workers,
            delivery_workers=delivery_workers,
            owner=boot,
            node=node,
            lease_ms=self._lease_ms,
            alone=not store.shared,
            clock=clock,
            start=partial(self._on_loop, self._start),
            due=partial(self._on_loop, self._set_timer),
            sent=partial(self._on_loop, sent),
            changed=partial(self._on_loop, changed),
            missed=partial(self._on_loop, self.look),
        )

    # -- start and stop ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take back the jobs that an earlier boot left running, then begin to claim jobs."""
        with self._tried_again("rescue"):  # after an error, the sweep takes the jobs back later
            now, judge = self._clock.now(), self._judges_leases()
            rescued = await self._store.write(begin, self._node, self._boot, now, self._rescued, judge=judge)
            if rescued:
                log.warning("recovered", jobs=len(rescued), why="the process that ran them died")
        self._store.attend(self._slots)
        await self._tick()
        self._keep(self._sweep())
        if self._store.shared:
            self._keep(self._listen())

    async def watch(self) -> None:
        """Wait until cancelled. Raise the exception of a background task that has failed, because the queue would stop
        working without a visible error."""
        await self._failure

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Stop claiming, wait up to `drain_seconds` for the running jobs, and release the unfinished jobs. A released
        job loses no attempt."""
        self._draining = True
        quiet = asyncio.Event()
        self._slots.close(partial(self._on_loop, quiet.set))
        if self._timer is not None:
            self._timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=drain_seconds)
        left = self._slots.running()
        await _end(self._tasks.values())
        await _end(self._duties)
        with suppress(TimeoutError):  # the result of a claim stays unknown during an outage of the database
            async with asyncio.timeout(HAND_BACK_SECONDS):
                await quiet.wait()  # after this, `_unfinished` contains the jobs of the last claims
        self._store.attend(None)
        await self._hand_back([*left, *self._unfinished.values()])

    def abandon(self, job_id: str) -> None:
        """Cancel the task of a job that was cancelled in the database, or whose lease another process has now."""
        for (running_id, _), task in self._tasks.items():
            if running_id == job_id:
                task.cancel()

    def look(self) -> None:
        """Find due jobs and claim them."""
        if not self._draining:
            self._keep(self._tick())

    async def _hand_back(self, jobs: Sequence[Job]) -> None:
        """Release jobs, so that another process can claim them. If this takes longer than `HAND_BACK_SECONDS`, the next
        boot takes the jobs back and counts a crash for each of them."""
        try:
            async with asyncio.timeout(HAND_BACK_SECONDS):
                await self._store.write(hand_back, self._node, jobs, self._clock.now())
        except (StoreError, TimeoutError) as error:
            log.warning("not_handed_back", jobs=len(jobs), why=str(error) or "the database is locked")

    # -- one job -------------------------------------------------------------------------------------------

    def _start(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._draining:
                self._unfinished[job.id] = job
                continue
            self._unfinished.pop(job.id, None)
            # The key contains the claim: the commit that postpones a job may claim the job again before this task ends.
            task = asyncio.create_task(self._execute(job), name=f"{job.kind}:{job.id}")
            self._tasks[job.id, job.claim] = task
            task.add_done_callback(partial(self._ended, job))

    def _ended(self, job: Job, _: asyncio.Task[None]) -> None:
        del self._tasks[job.id, job.claim]
        if self._slots.release(job):
            self.look()

    async def _execute(self, job: Job) -> None:
        try:
            result = await self._run(job)
            if not isinstance(result, Done):
                await self._postpone(job, self._policy.scheduled(job, result, self._clock.now()))
        except LeaseLost:
            log.info("lease_lost", job=job.id, kind=job.kind)
        except Exception:  # the end of the job could not be committed, so its lease expires and the job is taken back
            log.exception("job_not_settled", job=job.id, kind=job.kind)
            self._unfinished[job.id] = job

    async def _postpone(self, job: Job, outcome: Unfinished) -> None:
        handler = self._handlers.get(job.kind)
        await self._patient.write(postpone, job, outcome, handler.postponed if handler else None, self._clock.now())
        _log_end(job, outcome)
        if handler is not None:
            await handler.announce(job, outcome)

    async def _run(self, job: Job) -> JobResult:
        if job.crashes >= POISON_CRASHES:
            return Fail(POISON, POISON_TEXT)
        if (handler := self._handlers.get(job.kind)) is None:
            return Fail("unknown_kind", f"no installed part of Arvis runs jobs of the kind {job.kind}")
        try:
            return await handler.run(job)
        except LeaseLost:
            raise
        except asyncio.CancelledError:
            if _cancelled_by_us():
                raise
            return Retry("an execution for which the job waited was cancelled")
        except Unavailable as error:  # this does not count as an attempt
            return Snooze.after(self._clock.now(), PAUSE_SECONDS, error.code)
        except Exception as error:  # every error of a handler becomes a retry
            log.exception("job_failed", job=job.id, kind=job.kind)
            return Retry(f"{type(error).__name__}: {error}")

    # -- duties --------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        """Make due jobs ready, answer expired questions, claim jobs, and set the timer."""
        looked, due = False, None
        with self._tried_again("look"):
            due = await self._store.write(wake, self._expire, self._clock.now())
            looked = True
        if not looked:
            due = self._clock.now() + int((RETRY_SECONDS if self._contact.away else LOOK_SECONDS) * 1000)
        if due is not None:
            self._set_timer(due)

    def _set_timer(self, at: int) -> None:
        # The delay is limited, because the wall clock may jump and this timer stops while the machine sleeps.
        delay = min(max(0, at - self._clock.now()) / 1000, LONGEST_TIMER_SECONDS)
        when = self._loop.time() + delay
        if self._draining or (self._timer is not None and self._timer.when() <= when):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.look()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(RETRY_SECONDS if self._contact.away else min(SWEEP_SECONDS, self._lease_ms / 3000))
            with self._tried_again("sweep"):
                await self._renew()

    async def _renew(self) -> None:
        """Renew the leases of this process and take back expired jobs, in one commit. The leases are renewed first, so
        that no job that runs here is taken back if the clock jumps. Cancel the tasks of jobs that another process has
        taken over."""
        asked, now = self._slots.running(), self._clock.now()
        held, rescued = await self._store.write(
            renew,
            [job.id for job in asked],
            self._node,
            self._boot,
            now=now,
            lease_until=now + self._lease_ms,
            judge=self._judges_leases(),
            also=self._rescued,
        )
        for job in asked:
            if job.id not in held and self._slots.counts(job):
                self.abandon(job.id)
        if rescued:
            self.look()

    async def _listen(self) -> None:
        """Check for work of other processes after each of their notifications. Also check every `LOOK_SECONDS`, because
        a notification can be lost."""
        while True:
            with self._tried_again("listen"):
                await self._store.wait_for_change(LOOK_SECONDS)
            if self._contact.away:
                await self._clock.sleep(RETRY_SECONDS)
            await self._tick()

    def _judges_leases(self) -> bool:
        """Return True if expired leases of other processes may be taken over. Without a shared database, the result is
        always True, because no other process can renew its leases."""
        return not self._store.shared or self._contact.judges_leases()

    @contextmanager
    def _tried_again(self, duty: str) -> Iterator[None]:
        """Log and suppress errors of the database in the `with` block. The caller runs the block again later."""
        try:
            yield
        except DatabaseAway as error:
            self._contact.lost(error)
        except StoreError as error:
            log.warning("duty_failed", duty=duty, error=error.what, why=error.why)
        else:
            self._contact.found()

    def _on_loop(self, call: Callable[..., None], *args: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)

    def _keep(self, duty: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(duty)
        self._duties.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, duty: asyncio.Task[None]) -> None:
        self._duties.discard(duty)
        if not duty.cancelled() and (error := duty.exception()) is not None and not self._failure.done():
            self._failure.set_exception(error)


def _log_end(job: Job, outcome: Unfinished) -> None:
    """Log the result of a job that is not done, so that operators can find the reason for a missing answer."""
    what = {"job": job.id, "kind": job.kind, "message": job.message_id}
    match outcome:
        case Fail(reason=reason, error=error):
            log.warning("job_given_up", **what, reason=reason, error=error)
        case Retry(error=error):
            log.warning("job_postponed", **what, attempts=job.attempts + 1, error=error)
        case Snooze(reason=reason):
            log.warning("job_postponed", **what, reason=reason)


async def _end(tasks: Collection[asyncio.Task[None]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


def _cancelled_by_us() -> bool:
    """Return True if the current task itself was cancelled. Return False if only a task for which the current task
    waits was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Noticed:
    """A `Handler` that calls another handler. It publishes a change of the job before and after each run, and before
    each announcement."""

    def __init__(self, *, handler: Handler, bus: EventBus) -> None:
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
