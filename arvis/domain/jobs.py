"""Jobs: the rows of the queue, their possible results, and the rules that choose the pool and the rank of a
job. `JobStore` in `ports/job_store.py` describes the operations of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, Delivery, StoredMessage

#: The milliseconds that one priority class adds to a job's rank. Jobs run in the order of rank: arriving one minute
#: earlier has the same effect as being one class more urgent.
CLASS_MS = 60_000

#: The milliseconds that each earlier message of a person in the same minute adds to the rank of a message.
BURST_MS = 15_000

#: A job that was running during this many crashes of its process is ended as poison.
POISON_CRASHES = 5
#: The reason code of a job that was ended as poison.
POISON = "poison"

#: The delay (s) before a job runs again, after its first, second, third and fourth crash. After `POISON_CRASHES`
#: crashes, the queue ends the job.
CRASH_DELAYS = (0, 1, 5, 30)

#: The maximum remaining time (ms) of a lease. A lease exceeds this time only if the clock was set back after the lease
#: was granted. The queue then shortens the lease to this time. Otherwise the lease would stay valid too long if its
#: owner died.
LONGEST_LEASE_MS = 600_000

#: A job that was running during this many crashes is a suspect, because it may have caused the crashes. Suspects start
#: at least `SUSPECT_ALONE_MS` apart. If all suspects ran together, each crash would count for all of them, and all of
#: them would become poison.
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
    """The groups of jobs. Each process has slots for running jobs. Deliveries have separate slots. Interactive and
    background jobs share the other slots, but the last of these slots is only for interactive jobs."""

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


def behind(number: int) -> int:
    """Return the milliseconds that are added to the rank of the message `number` of a person in a minute. So a person
    who writes in many places at the same time delays another person's message by only a few turns."""
    return BURST_MS * max(0, number - 1)


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add."""

    kind: JobKind
    priority: int
    #: The lane. None means a new lane for this job alone.
    lane: str | None = None
    #: The earliest start (ms). None means now.
    run_at: int | None = None
    #: A key of the job. If a job with the same key exists, this job is not added.
    key: str | None = None
    #: True if `key` is compared only with the keys of jobs that wait or run.
    key_live: bool = False
    agent_id: str | None = None
    principal_id: str | None = None
    message_id: str | None = None
    execution_id: str | None = None
    delivery_id: str | None = None
    tokens: int = 0
    payload: Mapping[str, Any] = field(default_factory=dict)
    #: The milliseconds that are added to the rank.
    behind: int = 0

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
        behind: int = 0,
    ) -> NewJob:
        """Return the job that runs the execution of a turn. Waiting messages of the person `principal_id` may join the
        turn. If `principal_id` is None, no message may join."""
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
            behind=behind,
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
class Begun:
    """A new execution as it was stored, with the messages that it answers."""

    execution: Execution
    messages: list[StoredMessage]


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the queue. Times in ms. The result of a job is accepted only if `owner` and `claim` still match the
    row."""

    id: str
    kind: JobKind
    status: JobStatus
    pool: Pool
    priority: int
    rank: int
    lane: str
    position: int
    run_at: int
    #: The number of attempts that ended with an error.
    attempts: int
    #: The number of crashes of a process during which the job was running.
    crashes: int
    #: The number of times that a process has claimed the job.
    claim: int
    #: The boot id of the process that runs the job.
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
    #: The number of live jobs behind this job in its lane. Set only in jobs that a claim returns.
    followers: int = 0
    #: The delivery to send. Set only in jobs that a claim returns.
    delivery: Delivery | None = None
    #: The execution to advance, if it was begun in the commit that claims the job. Set only in jobs that a claim
    #: returns.
    begun: Begun | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a finished job. The job's handler has already committed the end of the job together with its
    work."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The result of a job that failed and may succeed at another attempt. The attempt is counted."""

    error: str
    #: The earliest time (ms) of the next attempt. The retry policy sets it; job handlers leave it 0.
    run_at: int = 0
    #: True if a model call failed. The next attempt then begins as soon as a model answers again.
    needs_model: bool = False


#: The reasons of jobs that wait for another attempt. `MODEL_RETRY`: a model call failed. `RETRY`: any other error.
RETRY, MODEL_RETRY = "retry", "model_retry"

#: The reason of a snooze if the job's execution waits for child executions, or continues at once.
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
    """The result of a job that failed permanently. The job gets the status `failed`, and runs again only if a person
    retries it."""

    #: The reason code, such as `attempts`.
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
