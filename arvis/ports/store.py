"""The store as the rest of Arvis sees it: transaction scripts and the repositories of a transaction.

A script is a plain function of a `Transaction`. It may be run again (a group that rolled back, a deadlock),
so it has no outside effect; it never catches a database error; a returned value commits, an exception rolls
back. All times are integer milliseconds, all ids sortable text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from arvis.domain.agents import Agent, Binding
from arvis.domain.conversations import Conversation
from arvis.domain.executions import Answer, Cursor, Effect, Execution, ExecutionStatus, Step, Wait, WaitKind
from arvis.domain.jobs import Job, JobKind, NewJob, Outcome, Pool
from arvis.domain.messages import (
    Address,
    Attachment,
    Delivery,
    DeliveryState,
    HistoryLine,
    MessageStatus,
    Principal,
    PrincipalRole,
    Role,
    StoredMessage,
)
from arvis.domain.runs import ModelCall

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class AddedJob:
    """`created` is False when a job with the same key was there already; `id` is then that job's."""

    id: str
    position: int
    created: bool = True


@dataclass(frozen=True, slots=True)
class Slots:
    """How many jobs may be claimed now: `work` for interactive and background together, of which at most
    `background` for background, and `delivery`."""

    work: int
    background: int
    delivery: int

    def __bool__(self) -> bool:
        return self.work > 0 or self.delivery > 0


class JobStore(Protocol):
    """The queue's mechanism (queue.md); `arvis/queue` is its policy."""

    def lock(self, lanes: Sequence[str]) -> None:
        """Take these lanes in a fixed order. A script that touches two lanes calls it first."""
        ...

    def add(self, job: NewJob, now: int) -> AddedJob: ...

    def get(self, job_id: str) -> Job | None: ...

    def claim(self, slots: Slots, owner: str, node: str, now: int, lease_until: int) -> list[Job]:
        """Lease ready heads of lanes, the lowest rank first; the claim commits the start of each."""
        ...

    def extend(self, job_ids: Sequence[str], owner: str, lease_until: int) -> set[str]:
        """Renew leases; the ids that are still held."""
        ...

    def settle(self, job: Job, outcome: Outcome, now: int) -> bool:
        """End or postpone a claimed job; False when the lease was lost, and then nothing was changed."""
        ...

    def rescue(self, node: str, boot: str, now: int) -> list[Job]:
        """Return to the queue what runs under an older boot of this node or an expired lease; adds one to
        the crashes of each."""
        ...

    def cancel(self, job_id: str, now: int) -> Job | None:
        """End a pending or running job as cancelled; None when it is neither. A running worker loses its
        lease by this."""
        ...

    def requeue(self, job_id: str, now: int) -> Job | None:
        """Put a failed job at the tail of its lane with fresh counters; None when it has not failed."""
        ...

    def delete(self, job_id: str) -> bool:
        """Remove a job that is not live."""
        ...

    def fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> list[Job]:
        """End the waiting followers of the same principal that stand directly behind `head` as merged into
        it, within the limits (which count `head`); the folded jobs in order."""
        ...

    def live_of_execution(self, execution_id: str) -> list[Job]:
        """Its jobs that wait or run."""
        ...

    def head_of_lane(self, lane: str) -> Job | None:
        """The one job of a lane that may run or runs."""
        ...

    def wake(self, now: int) -> int:
        """Make heads claimable whose time has come (how many), and let this commit claim."""
        ...

    def held(self, job: Job) -> bool:
        """Whether this claim still holds; asked before each commit on the way, so that a lost lease commits
        nothing."""
        ...

    def next_due(self) -> int | None:
        """The soonest time at which a waiting head becomes claimable."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` jobs that ended before this time; how many."""
        ...


class Messages(Protocol):
    def by_event(self, address: Address, event_id: str) -> StoredMessage | None: ...

    def get(self, message_id: str) -> StoredMessage | None: ...

    def add(self, message: StoredMessage, *, event_id: str | None = None) -> None: ...

    def attach(self, message_id: str, attachments: Sequence[Attachment]) -> None: ...

    def of_turn(self, execution_id: str) -> list[StoredMessage]:
        """The user messages that one execution answers, in order, with their attachments."""
        ...

    def join_turn(self, joining: str, execution_id: str) -> None:
        """Let the user messages of the execution `joining` be answered by another one."""
        ...

    def settle_turn(
        self, execution_id: str, status: MessageStatus, *, reason: str | None, turn: int | None, reply_id: str | None
    ) -> None:
        """Give the user messages of a turn their end."""
        ...

    def mark_turn(self, execution_id: str, status: MessageStatus, reason: str | None = None) -> None:
        """Say where an open turn stands (accepted, waiting)."""
        ...

    def reopen_turn(self, execution_id: str) -> None:
        """Undo the end of a failed turn before it is tried again by hand; its notice is superseded."""
        ...

    def history(self, conversation_id: str, limit: int) -> list[HistoryLine]:
        """The newest `limit` messages of ended turns, oldest first."""
        ...


class Conversations(Protocol):
    def open(self, agent_id: str, address: Address, now: int) -> Conversation:
        """The active conversation of this agent in this place, made if there is none."""
        ...

    def get(self, conversation_id: str) -> Conversation | None: ...

    def in_place(self, address: Address) -> list[Conversation]:
        """The active conversations of every agent in this place."""
        ...

    def next_turn(self, conversation_id: str, now: int) -> int:
        """Count one more ended turn; its number."""
        ...


class Principals(Protocol):
    def find(self, platform: str, user_id: str) -> Principal | None: ...

    def get(self, principal_id: str) -> Principal | None: ...

    def seen(self, platform: str, user_id: str, name: str, role: PrincipalRole | None, now: int) -> Principal:
        """The principal of this platform id, made as a member if unknown; a given `role` is taken over
        unless the principal is blocked."""
        ...

    def set_role(self, principal_id: str, role: PrincipalRole, now: int) -> None: ...


class Agents(Protocol):
    def get(self, agent_id: str) -> Agent | None: ...

    def by_slug(self, slug: str) -> Agent | None: ...

    def all(self) -> list[Agent]:
        """Every agent that is not archived, in order of creation."""
        ...

    def add(self, agent: Agent, now: int) -> None: ...

    def update(self, agent: Agent, now: int) -> None: ...

    def binding_at(self, platform: str, channel: str) -> Binding | None: ...

    def bindings(self, agent_id: str | None = None) -> list[Binding]: ...

    def bind(self, binding: Binding, now: int) -> None: ...


class Executions(Protocol):
    def add(self, execution: Execution, cursor: Cursor) -> None: ...

    def get(self, execution_id: str) -> Execution | None: ...

    def save(self, execution: Execution) -> None:
        """Write back status, state, result, steps, error and version."""
        ...

    def set_status(self, execution_id: str, status: ExecutionStatus, error: str | None, now: int) -> None: ...

    def discard(self, execution_id: str) -> None:
        """Remove an execution that never made a step (its message joined another turn)."""
        ...

    def cursors(self, execution_id: str) -> list[Cursor]: ...

    def put_cursor(self, cursor: Cursor) -> None: ...

    def drop_cursors(self, execution_id: str, cursor_ids: Sequence[str] | None = None) -> None:
        """Remove these positions (None: all of the execution)."""
        ...

    def add_steps(self, steps: Sequence[Step]) -> None: ...

    def effects(self, execution_id: str) -> list[Effect]: ...

    def put_effect(self, effect: Effect) -> None: ...

    def children_of(self, execution_id: str) -> list[Execution]: ...


class Waits(Protocol):
    def add(self, wait: Wait) -> None: ...

    def get(self, wait_id: str) -> Wait | None: ...

    def of_execution(self, execution_id: str) -> list[Wait]: ...

    def open_in_lane(self, lane: str, kind: WaitKind) -> Wait | None: ...

    def answer(self, wait_id: str, answer: Answer, now: int) -> bool:
        """The first answer wins; False when there was one already."""
        ...

    def close(self, execution_id: str, now: int) -> None:
        """Withdraw every open question of an execution that ends."""
        ...

    def due(self, now: int, limit: int) -> list[Wait]: ...

    def next_due(self) -> int | None: ...


class Deliveries(Protocol):
    def next_seq(self, address: Address) -> int:
        """The next number of the channel; a counter row, so that numbers follow the order of commits."""
        ...

    def add(self, delivery: Delivery) -> None: ...

    def get(self, delivery_id: str) -> Delivery | None: ...

    def set_state(
        self, delivery_id: str, state: DeliveryState, now: int, *, platform_id: str | None = None, error: str | None = None
    ) -> None: ...


class Timeline(Protocol):
    """What no other row tells about a message: retries, crashes, cuts (the rest of a timeline is derived)."""

    def note(self, message_ids: Sequence[str], step: str, data: Mapping[str, Any], now: int) -> None: ...


class Usage(Protocol):
    def add(self, call: ModelCall, *, execution_id: str, job_id: str, agent_id: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A login of the dashboard; only the hash of its cookie is stored."""

    principal: Principal
    created_at: int
    seen_at: int


class Logins(Protocol):
    def add_code(self, code_hash: str, expires_at: int, now: int) -> None: ...

    def use_code(self, code_hash: str, now: int) -> bool:
        """Spend a one-time code; False when it is unknown, spent or expired."""
        ...

    def open_session(self, token_hash: str, principal_id: str, now: int) -> None: ...

    def session(self, token_hash: str) -> LoginSession | None: ...

    def touch(self, token_hash: str, now: int) -> None: ...

    def close_session(self, token_hash: str) -> None: ...


class Settings(Protocol):
    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str, now: int) -> None: ...


class Transaction(Protocol):
    @property
    def jobs(self) -> JobStore: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def principals(self) -> Principals: ...
    @property
    def agents(self) -> Agents: ...
    @property
    def executions(self) -> Executions: ...
    @property
    def waits(self) -> Waits: ...
    @property
    def deliveries(self) -> Deliveries: ...
    @property
    def timeline(self) -> Timeline: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def logins(self) -> Logins: ...
    @property
    def settings(self) -> Settings: ...

    def new_id(self) -> str:
        """A fresh sortable id (26 characters)."""
        ...


Script = Callable[Concatenate[Transaction, P], R]


class Claimer(Protocol):
    """The queue as the store sees it: free slots for the claim that rides in another script's commit.
    Called from the store's threads."""

    def reserve(self, ended: Sequence[str]) -> Slots:
        """Take all free slots, counting those of the jobs that this commit ends; every call is followed by
        `deliver`."""
        ...

    def deliver(self, reserved: Slots, jobs: Sequence[Job]) -> None:
        """The claim is committed (or failed: no jobs): start these, free what was not used."""
        ...

    def lease(self) -> tuple[str, str, int, int]:
        """Owner, node, now and end of lease for a claim made now."""
        ...

    def due(self, at: int) -> None:
        """Something was committed that wants attention at this time (ms)."""
        ...


class Store(Protocol):
    @property
    def shared(self) -> bool:
        """Whether other processes may write the same database."""
        ...

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a script and answer after its commit. A cancelled write may still be committed."""
        ...

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a script that only reads, in one snapshot."""
        ...

    def attend(self, claimer: Claimer | None) -> None:
        """From now on claim jobs for this queue in the commits that add or settle some (None: no more)."""
        ...

    async def wait_for_change(self, timeout: float) -> bool:
        """Until another process changed the queue, at most `timeout` seconds; whether it did. A store that
        no other process writes just waits."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes under their SHA-256, on disk when it returns."""
        ...


__all__ = [
    "AddedJob",
    "Agents",
    "Claimer",
    "Conversations",
    "Deliveries",
    "Executions",
    "JobKind",
    "JobStore",
    "LoginSession",
    "Logins",
    "Messages",
    "Pool",
    "Principals",
    "Role",
    "Script",
    "Settings",
    "Slots",
    "Store",
    "Timeline",
    "Transaction",
    "Usage",
    "Waits",
]
