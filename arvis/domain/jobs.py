"""Jobs: the units of the queue, and the policy that is pure arithmetic (lane, priority, pool, rank).

Semantics and figures: queue.md. The mechanism is `JobStore` in `ports/store.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from arvis.domain.messages import Address, Delivery

#: Ageing: a job gains one priority class for each minute that it waits, because rank is time of arrival
#: plus this many milliseconds per class, written once.
CLASS_MS = 60_000

#: A job whose process died this many times while it ran is poison.
POISON_CRASHES = 5
#: The reason code of its end.
POISON = "poison"

#: Seconds before the 2nd, 3rd and 4th recovery. The first recovered run starts immediately.
CRASH_DELAYS = (0, 1, 5, 30)

#: The maximum lease duration (ms). A lease that ends later was granted before the clock was set back, and would
#: outlive its dead owner by that difference. A living owner renews it long before.
LONGEST_LEASE_MS = 600_000

#: A job that was running at this many crashes may have caused them. Suspects start one at a time, and each runs alone
#: for this time (ms); otherwise the guilty job would crash the same innocent jobs until all of them count as poison.
SUSPECT_CRASHES = 2
SUSPECT_ALONE_MS = 30_000
#: The time (ms) for which a suspect waits before the queue checks again whether it may start.
SUSPECT_RETRY_MS = 250


class JobKind(StrEnum):
    MESSAGE = "message"
    ADVANCE = "advance"
    DELIVER = "deliver"
    COMPACT = "compact"
    CRON = "cron"
    HEARTBEAT = "heartbeat"
    WEBHOOK = "webhook"


class JobStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Pool(StrEnum):
    """Slots that jobs compete for. Deliveries have their own slots; background jobs never take the last slot of the
    other pools."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"
    DELIVERY = "delivery"


class Priority(IntEnum):
    """1 is the most urgent, 10 is background (behaviour 1.10)."""

    OWNER = 1
    CONDUCTOR = 3
    DELEGATION = 4
    MESSAGE = 5
    BACKGROUND = 10


def pool_of(kind: JobKind, priority: int) -> Pool:
    if kind is JobKind.DELIVER:
        return Pool.DELIVERY
    return Pool.INTERACTIVE if priority <= Priority.MESSAGE else Pool.BACKGROUND


def rank_of(priority: int, arrived_at: int) -> int:
    """Order between lanes; inside a lane only `position` counts. `arrived_at` in ms."""
    return arrived_at + CLASS_MS * priority


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add. `lane` None means its own lane; `run_at` is in ms, None means now. `key` makes the job unique:
    permanently, or with `key_live` only among jobs that wait or run, which limits floods."""

    kind: JobKind
    priority: int
    lane: str | None = None
    run_at: int | None = None
    key: str | None = None
    key_live: bool = False
    agent_id: str | None = None
    principal_id: str | None = None
    message_id: str | None = None
    execution_id: str | None = None
    delivery_id: str | None = None
    tokens: int = 0
    payload: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def answer(
        cls,
        lane: str,
        priority: int,
        *,
        agent_id: str,
        principal_id: str | None,
        message_id: str,
        execution_id: str,
        tokens: int,
        run_at: int | None = None,
    ) -> NewJob:
        """The `advance` job of a turn's execution, due immediately. Only messages of the same person may join it;
        with None no message may."""
        return cls(
            kind=JobKind.MESSAGE,
            priority=priority,
            lane=lane,
            agent_id=agent_id,
            principal_id=principal_id,
            message_id=message_id,
            execution_id=execution_id,
            tokens=tokens,
            run_at=run_at,
        )

    @classmethod
    def deliver(cls, address: Address, priority: int, *, delivery_id: str, message_id: str) -> NewJob:
        return cls(
            kind=JobKind.DELIVER, priority=priority, lane=address.lane, delivery_id=delivery_id, message_id=message_id
        )

    @classmethod
    def advance(
        cls, execution_id: str, lane: str, priority: int, *, run_at: int | None = None, principal_id: str | None = None
    ) -> NewJob:
        return cls(
            kind=JobKind.ADVANCE,
            priority=priority,
            lane=lane,
            run_at=run_at,
            execution_id=execution_id,
            principal_id=principal_id,
        )


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the queue. Times in ms. `attempts` counts errors that the job returned; `crashes` counts unclean exits
    of the process while the job ran. `owner` (a boot id) and `claim` fence every settlement. A claim also loads
    `followers`, the number of live jobs behind it in its lane, and the `delivery` to send."""

    id: str
    kind: JobKind
    status: JobStatus
    pool: Pool
    priority: int
    rank: int
    lane: str
    position: int
    run_at: int
    attempts: int
    crashes: int
    claim: int
    owner: str | None
    key: str | None
    agent_id: str | None
    principal_id: str | None
    message_id: str | None
    execution_id: str | None
    delivery_id: str | None
    tokens: int
    payload: Mapping[str, Any]
    error: str | None
    reason: str | None
    merged_into: str | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    lease_until: int | None
    followers: int = 0
    delivery: Delivery | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The work is finished; the handler has committed the end of the job together with its results."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The work failed and another attempt may succeed; counts an attempt."""

    error: str
    #: When the next attempt may begin (ms). A handler leaves it 0: the retry policy sets it.
    run_at: int = 0


#: Reason of a snooze: the execution of the job waits for its children.
CALLED = "called"


@dataclass(frozen=True, slots=True)
class Snooze:
    """The job cannot run before `run_at` (ms), but nothing failed; counts no attempt."""

    run_at: int
    reason: str

    @classmethod
    def after(cls, now: int, seconds: float, reason: str) -> Snooze:
        """Return a snooze that ends `seconds` after `now` (ms)."""
        return cls(now + int(seconds * 1000), reason)


@dataclass(frozen=True, slots=True)
class Fail:
    """No further attempt can succeed: the job becomes a dead letter."""

    #: A code, such as `attempts`.
    reason: str
    #: A sentence for people.
    error: str


@dataclass(frozen=True, slots=True)
class Released:
    """A drain returns the job untouched; counts no attempt."""


#: A result that leaves the job unfinished: the queue commits it.
Unfinished = Retry | Snooze | Fail
#: The result of a handler.
JobResult = Done | Unfinished
#: All that can become of a claimed job.
Settlement = JobResult | Released
