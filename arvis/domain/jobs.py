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
    """The job is finished."""


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed and runs again at `run_at` (ms); counts an attempt."""

    run_at: int
    error: str


#: The reason of a job whose execution waits for its children.
CALLED = "called"


@dataclass(frozen=True, slots=True)
class Snooze:
    """The job cannot run before `run_at` (ms), through no fault of its own. It counts as no attempt."""

    run_at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The job failed finally (a dead letter); `reason` is a code, `error` a sentence."""

    reason: str
    error: str


@dataclass(frozen=True, slots=True)
class Released:
    """A stopping process releases the job unchanged; it counts as no attempt."""


Outcome = Done | Retry | Snooze | Failed | Released


@dataclass(frozen=True, slots=True)
class Settled:
    """A handler's result: it has committed the end of its job together with the results."""


@dataclass(frozen=True, slots=True)
class TryAgain:
    """A failure that another attempt may fix. The queue decides when to retry, or fails the job."""

    error: str


@dataclass(frozen=True, slots=True)
class NotBefore:
    """The job cannot run for `seconds`, through no fault of its own."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """A failure that no attempt can fix."""

    reason: str
    error: str


Verdict = Settled | TryAgain | NotBefore | GiveUp
