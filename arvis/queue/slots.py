"""Free slots, counted where the store's threads can see them.

The store asks before it commits (`reserve`) and tells afterwards (`deliver`), so that a claim rides in the commit
that made work or freed a slot. A job counts from its claim to its settlement, not to the end of its task.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from arvis.domain.jobs import Job, Pool
from arvis.ports.clock import Clock
from arvis.ports.job_store import Slots


class SlotKeeper:
    """`Claimer` for one process. `start` and `due` are called on any thread."""

    def __init__(
        self,
        *,
        workers: int,
        delivery_workers: int,
        owner: str,
        node: str,
        lease_ms: int,
        clock: Clock,
        start: Callable[[Sequence[Job]], None],
        due: Callable[[int], None],
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
        self._lock = threading.Lock()
        self._running: dict[str, Pool] = {}
        self._reserved_work = 0
        self._reserved_delivery = 0
        self._somebody_missed = False

    def reserve(self, ended: Sequence[str]) -> Slots:
        with self._lock:
            for job_id in ended:
                self._running.pop(job_id, None)
            slots = self._free()
            if not slots and (self._reserved_work or self._reserved_delivery):
                self._somebody_missed = True
            self._reserved_work += slots.work
            self._reserved_delivery += slots.delivery
            return slots

    def deliver(self, reserved: Slots, jobs: Sequence[Job]) -> None:
        with self._lock:
            self._reserved_work -= reserved.work
            self._reserved_delivery -= reserved.delivery
            self._running.update((job.id, job.pool) for job in jobs)
            # Someone found no slot while this claim held them all and gave some back: look again.
            again = self._somebody_missed and bool(self._free())
            self._somebody_missed = self._somebody_missed and not again
        if jobs:
            self._start(jobs)
        if again:
            self._missed()

    def lease(self) -> tuple[str, str, int, int]:
        now = self._clock.now()
        return self._owner, self._node, now, now + self._lease_ms

    def release(self, job_id: str) -> bool:
        """A task has ended; True when its job was never settled, so that its slot is free only now."""
        with self._lock:
            return self._running.pop(job_id, None) is not None

    def _free(self) -> Slots:
        pools = list(self._running.values())
        deliveries = pools.count(Pool.DELIVERY)
        work = max(0, self._workers - (len(pools) - deliveries) - self._reserved_work)
        # Interactive work always keeps one slot; ageing decides about the others.
        background = min(work, max(0, self._workers - 1 - pools.count(Pool.BACKGROUND)))
        return Slots(work, background, max(0, self._delivery_workers - deliveries - self._reserved_delivery))
