"""The free job slots of one process. A lock protects the counts of the slots, because the threads of the store change
these counts.

The store reserves slots before a commit (`reserve`) and reports the claimed jobs after it (`deliver`). So a commit that
adds a job or frees a slot also claims the next jobs. A job uses a slot from its claim until the job is settled. The job
may be settled before its asyncio task ends.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from arvis.domain.jobs import Job, Pool
from arvis.domain.messages import Delivery
from arvis.ports.clock import Clock
from arvis.ports.job_store import Slots


class SlotPool:
    """The `Claimer` of one process. The callback `start` receives the claimed jobs. `due` receives the time (ms) of the
    next due job. `sent` receives deliveries that were stored as sent. `changed` receives the topics of changed data.
    `missed` is called if jobs may be waiting although slots are free. All five may be called on any thread. `alone` is
    True if no other process adds jobs; then a slot that becomes free causes no claim while no job is ready."""

    def __init__(
        self,
        *,
        workers: int,
        delivery_workers: int,
        owner: str,
        node: str,
        lease_ms: int,
        alone: bool,
        clock: Clock,
        start: Callable[[Sequence[Job]], None],
        due: Callable[[int], None],
        sent: Callable[[Sequence[Delivery]], None],
        changed: Callable[[Collection[str]], None],
        missed: Callable[[], None],
    ) -> None:
        self._workers = workers
        self._delivery_workers = delivery_workers
        self._owner = owner
        self._node = node
        self._lease_ms = lease_ms
        self._clock = clock
        self._start = start
        self._missed = missed
        self.due = due
        self.sent = sent
        self.changed = changed
        self._alone = alone
        #: The pools in which the last claim left slots unused, and in which no job has become ready since then.
        self._drained: set[Pool] = set()
        self._lock = threading.Lock()
        self._running: dict[str, Job] = {}
        #: The number of running jobs of each pool.
        self._numbers = Counter[Pool]()
        self._ending: dict[str, Job] = {}
        self._reserved: list[Slots] = []
        self._overlapped = False
        self._closed: Callable[[], None] | None = None

    def reserve(self, ended: Sequence[str], *, ready: Iterable[Pool]) -> Slots:
        with self._lock:
            self._drained.difference_update(ready)
            for job_id in ended:
                if (job := self._running.get(job_id)) is not None:
                    self._stops(job)
                    self._ending[job_id] = job
            slots = self._free(self._drained) if self._alone else self._free()
            self._overlapped = self._overlapped or bool(self._reserved)
            self._reserved.append(slots)
            return slots

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None:
        with self._lock:
            for job_id in ended:
                job = self._ending.pop(job_id, None)
                if job is not None and jobs is None:
                    self._runs(job)
            if reserved:
                self._drained.update(_left_over(reserved, jobs) if jobs is not None else ())
            if jobs:
                for job in jobs:
                    self._runs(job)
                self._start(jobs)
            self._reserved.remove(reserved)
            if self._closed is not None and not self._reserved:
                self._closed()
            # Claims at the same time reserve different slots. So one claim may leave its slots unused although jobs are
            # waiting.
            again = self._overlapped and not self._reserved and bool(self._free())
            self._overlapped = self._overlapped and bool(self._reserved)
        if again:
            self._missed()

    def lease(self) -> tuple[str, str, int, int]:
        now = self._clock.now()
        return self._owner, self._node, now, now + self._lease_ms

    def close(self, quiet: Callable[[], None]) -> None:
        """Stop reserving slots. `quiet` is called, on any thread, as soon as no claim is in progress."""
        with self._lock:
            self._closed = quiet
            if not self._reserved:
                quiet()

    def running(self) -> list[Job]:
        """Return the jobs that are claimed and not settled yet."""
        with self._lock:
            return list(self._running.values())

    def counts(self, job: Job) -> bool:
        """Return True if this claim of the job is not settled yet."""
        with self._lock:
            return self._running.get(job.id) is job

    def release(self, job: Job) -> bool:
        """Record that the asyncio task of this claim has ended. If the job is not settled, free its slot now and return
        True."""
        with self._lock:
            if self._ending.get(job.id) is job:
                del self._ending[job.id]
            if self._running.get(job.id) is not job:
                return False
            self._stops(job)
            return True

    def _runs(self, job: Job) -> None:
        self._stops(self._running.get(job.id))
        self._running[job.id] = job
        self._numbers[job.pool] += 1

    def _stops(self, job: Job | None) -> None:
        if job is not None:
            del self._running[job.id]
            self._numbers[job.pool] -= 1

    def _free(self, drained: Collection[Pool] = ()) -> Slots:
        """Return the free slots, without the slots of the pools in `drained`."""
        if self._closed is not None:
            return Slots(0, 0, 0)
        pools = self._numbers
        deliveries = pools[Pool.DELIVERY] + sum(slots.delivery for slots in self._reserved)
        background = pools[Pool.BACKGROUND] + sum(slots.background for slots in self._reserved)
        working = pools[Pool.INTERACTIVE] + pools[Pool.BACKGROUND] + sum(slots.work for slots in self._reserved)
        work = max(0, self._workers - working)
        interactive, behind = Pool.INTERACTIVE not in drained, Pool.BACKGROUND not in drained
        # Background work never uses the last slot, so that interactive work need not wait for it.
        return Slots(
            work=work if interactive or behind else 0,
            background=min(work, max(0, self._workers - 1 - background)) if behind else 0,
            delivery=max(0, self._delivery_workers - deliveries) if Pool.DELIVERY not in drained else 0,
            interactive=interactive,
        )


def _left_over(reserved: Slots, jobs: Sequence[Job]) -> Collection[Pool]:
    """Return the pools in which a claim left slots unused. No job of these pools is ready."""
    pools = Counter(job.pool for job in jobs)
    work = pools[Pool.INTERACTIVE] + pools[Pool.BACKGROUND]
    background, deliveries = pools[Pool.BACKGROUND], pools[Pool.DELIVERY]
    found = {
        Pool.INTERACTIVE: reserved.interactive and work < reserved.work,
        Pool.BACKGROUND: work < reserved.work and background < reserved.background,
        Pool.DELIVERY: deliveries < reserved.delivery,
    }
    return [pool for pool, left in found.items() if left]
