"""Jobs: the rows of the queue, their possible results, and the rules for pool and rank. `JobStore` in
`ports/job_store.py` describes the operations of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from arvis.domain.messages import Address, Delivery

#: Milliseconds that one priority class adds to a job's rank. Jobs run in the order of rank, so a job that arrived a
#: minute earlier is equal to a job that is one class more urgent.
CLASS_MS = 60_000

#: A job is ended as poison after its process has died this many times while the job ran.
POISON_CRASHES = 5
#: The reason code of a job that was ended as poison.
POISON = "poison"

#: The seconds after which a job runs again after its first, second, third and fourth crash.
CRASH_DELAYS = (0, 1, 5, 30)

#: The maximum time (ms) until a lease ends. A lease that ends later was granted before the clock was set back. It is
#: shortened to this time, because otherwise it would stay valid too long after its owner has died.
LONGEST_LEASE_MS = 600_000

#: A job that ran during this many crashes is a suspect: it may have caused them. After one suspect has started, the
#: next one starts only after `SUSPECT_ALONE_MS`. Otherwise the job that causes the crashes would always crash the same
#: other suspects, until all of them count as poison.
SUSPECT_CRASHES = 2
SUSPECT_ALONE_MS = 30_000
#: The time (ms) after which the queue checks again whether a waiting suspect may start.
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
    """The groups of jobs for which the slots of a process are counted. Deliveries have their own slots. Interactive and
    background jobs share the others, but background jobs never take the last one."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"
    DELIVERY = "delivery"


class Priority(IntEnum):
    """The usual priorities of jobs. A smaller number is more urgent."""

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
    """Return the rank of a job that arrived at `arrived_at` (ms). The heads of lanes run in the order of their ranks;
    inside a lane only `position` counts."""
    return arrived_at + CLASS_MS * priority


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add. `lane` None: a new lane for this job alone. `run_at` in ms; None: now. If a job with the same `key`
    exists, no job is added; with `key_live` only a job that waits or runs counts."""

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
        """Return the job that runs the execution of a turn. Waiting messages of the person `principal_id` may join the
        turn; None: no message may join it."""
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
    """A row of the queue. Times in ms. `attempts` counts the attempts that ended with an error; `crashes` counts the
    crashes of a process while the job ran. A result is accepted only if `owner` (the boot id of the process) and
    `claim` (the number of the claim) still match the row. A claim also loads `followers`, the number of live jobs
    behind this one in its lane, and the `delivery` to send."""

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
    """The result of a finished job. The handler has already committed the end of the job together with its work."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The result of a job that failed and may succeed at another attempt. The attempt is counted."""

    error: str
    #: The earliest time (ms) of the next attempt. Handlers leave it 0, and the retry policy sets it.
    run_at: int = 0


#: The reason of a snooze if the execution of the job waits for its child executions.
CALLED = "called"


@dataclass(frozen=True, slots=True)
class Snooze:
    """The result of a job that did not fail but cannot run before `run_at` (ms). No attempt is counted."""

    run_at: int
    reason: str

    @classmethod
    def after(cls, now: int, seconds: float, reason: str) -> Snooze:
        """Return a snooze that ends `seconds` after `now` (ms)."""
        return cls(now + int(seconds * 1000), reason)


@dataclass(frozen=True, slots=True)
class Fail:
    """The result of a job that failed finally. The job gets the status `failed` and runs again only if a person retries
    it."""

    #: A code, such as `attempts`.
    reason: str
    #: A sentence for people.
    error: str


@dataclass(frozen=True, slots=True)
class Released:
    """The result of a job that a stopping process returns to the queue. No attempt is counted."""


#: The results of unfinished jobs, which the queue commits.
Unfinished = Retry | Snooze | Fail
#: The result of a handler.
JobResult = Done | Unfinished
#: The ways in which a claim of a job can end.
Settlement = JobResult | Released
