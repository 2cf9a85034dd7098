"""The repositories of a transaction, one Protocol for each kind of row (the queue's is `ports/job_store.py`).

All times are integer milliseconds, all ids sortable text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.agents import Agent, AgentVersion, Binding
from arvis.domain.conversations import Conversation
from arvis.domain.executions import Answer, Cursor, Effect, Execution, ExecutionStatus, Step, Wait, WaitKind
from arvis.domain.messages import (
    Address,
    Delivery,
    DeliveryState,
    MessageStatus,
    PastMessage,
    StoredMessage,
)
from arvis.domain.runs import Cooldown, ModelCall
from arvis.domain.taint import Taint
from arvis.ports.insights import MessageTimeline, UsageSums


class Messages(Protocol):
    def by_event(self, address: Address, event_id: str) -> StoredMessage | None: ...

    def get(self, message_id: str) -> StoredMessage | None: ...

    def add(self, message: StoredMessage, *, event_id: str | None = None) -> None: ...

    def of_turn(self, execution_id: str) -> list[StoredMessage]:
        """Return the user messages that one execution answers, in order, with their attachments."""
        ...

    def join_turn(self, joining: str, execution_id: str, *, behind: int = 0) -> None:
        """Let another execution answer the user messages of the execution `joining`; there they follow `behind` this
        position, in their order."""
        ...

    def move(self, message_id: str, execution_id: str, position: int) -> None:
        """Reset a user message to unanswered, at this position of another execution."""
        ...

    def settle_turn(
        self,
        execution_id: str,
        status: MessageStatus,
        *,
        reason: str | None,
        turn: int | None,
        reply_id: str | None,
        straight: bool = False,
    ) -> None:
        """Set the final status of the user messages of a turn; `straight`: the turn posted no progress."""
        ...

    def answered_by(self, message_id: str, reply_id: str) -> None:
        """Link a message without a turn to its answer."""
        ...

    def mark_turn(self, execution_id: str, status: MessageStatus, reason: str | None = None) -> None:
        """Set the status of an open turn (accepted, waiting)."""
        ...

    def progress(self, execution_id: str) -> list[StoredMessage]:
        """Return the progress messages of a turn, in order."""
        ...

    def reopen_turn(self, execution_id: str) -> None:
        """Undo the end of a failed turn before a person retries it; its notice is superseded."""
        ...

    def history(self, conversation_id: str, limit: int) -> list[PastMessage]:
        """Return the newest `limit` messages of ended turns that are in no summary, oldest first."""
        ...

    def recent(self, conversation_id: str, principal_id: str, limit: int) -> list[int]:
        """Return when this person's newest messages here were accepted, in ms, newest first."""
        ...

    def label(self, message_id: str, taint: Taint) -> None:
        """Store the taint of a message."""
        ...


class Conversations(Protocol):
    def open(self, agent_id: str, address: Address, now: int, *, direct: bool = False) -> Conversation:
        """Return the active conversation of this agent in this channel, created if there is none. `direct`: only one
        person writes there; once set, it stays set."""
        ...

    def close(self, conversation_id: str, now: int) -> None:
        """Close a conversation: its next message begins another one; running turns still end here."""
        ...

    def get(self, conversation_id: str) -> Conversation | None: ...

    def in_place(self, address: Address) -> list[Conversation]:
        """Return the active conversations of every agent in this channel."""
        ...

    def last_messages(self) -> dict[str, int]:
        """Return when each agent last took part in a conversation, by its id."""
        ...

    def next_turn(self, conversation_id: str, now: int) -> int:
        """Count one more ended turn and return its number."""
        ...


class Agents(Protocol):
    def get(self, agent_id: str) -> Agent | None: ...

    def by_slug(self, slug: str) -> Agent | None: ...

    def all(self) -> list[Agent]:
        """Return every agent that is not archived, in order of creation."""
        ...

    def add(self, agent: Agent, now: int) -> None: ...

    def update(self, agent: Agent, now: int) -> None: ...

    def binding_at(self, platform: str, channel: str) -> Binding | None: ...

    def bindings(self, agent_id: str | None = None) -> list[Binding]: ...

    def bind(self, binding: Binding, now: int) -> None: ...

    def unbind(self, platform: str, channel: str) -> bool:
        """Remove a binding; return False if no agent is bound there."""
        ...

    def keep_version(self, version: AgentVersion) -> None: ...

    def versions(self, agent_id: str, limit: int) -> list[AgentVersion]:
        """Return versions, newest first."""
        ...


class Executions(Protocol):
    def add(self, execution: Execution, cursor: Cursor) -> None: ...

    def put_below(self, execution_id: str, above: str) -> None: ...

    def get(self, execution_id: str) -> Execution | None: ...

    def save(self, execution: Execution) -> None:
        """Update status, state, result, steps, error and version."""
        ...

    def set_status(self, execution_id: str, status: ExecutionStatus, error: str | None, now: int) -> None: ...

    def discard(self, execution_id: str) -> None:
        """Delete an execution that never made a step (its message joined another turn)."""
        ...

    def cursors(self, execution_id: str) -> list[Cursor]: ...

    def put_cursor(self, cursor: Cursor) -> None: ...

    def drop_cursors(self, execution_id: str, cursor_ids: Sequence[str] | None = None) -> None:
        """Delete these positions (None: all of the execution)."""
        ...

    def add_steps(self, steps: Sequence[Step]) -> None: ...

    def visited(self, execution_id: str) -> int:
        """Return how many of its steps ended a visit of a node: all but questions, calls and joins."""
        ...

    def effects(self, execution_id: str) -> list[Effect]: ...

    def put_effect(self, effect: Effect) -> None: ...

    def children_of(self, execution_id: str) -> list[Execution]: ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` executions that ended before this time, with all their parts; return their number."""
        ...


class Waits(Protocol):
    def add(self, wait: Wait) -> None: ...

    def get(self, wait_id: str) -> Wait | None: ...

    def of_execution(self, execution_id: str) -> list[Wait]: ...

    def answered(self, execution_id: str) -> set[str]:
        """Return the ids of the execution's answered questions."""
        ...

    def any_open(self) -> bool:
        """Return whether any question is open."""
        ...

    def open_in_lane(self, lane: str, kind: WaitKind, other: WaitKind | None = None) -> list[Wait]:
        """Return the open questions of this kind (or of the other) in a lane, oldest first."""
        ...

    def find_in(self, wait_id: str, lane: str) -> None:
        """Assign the question to this lane, independent of its execution's lane."""
        ...

    def shown_as(self, address: Address, ref: str) -> str | None:
        """Return the id of the question that a message of this channel shows. `ref` is the platform's id of that message, or
        ours."""
        ...

    def is_overtaken(self, talk: Conversation, wait_id: str, principal_id: str) -> bool:
        """Return whether the agent has written to this person in `talk` since the question was last shown there."""
        ...

    def answer(self, wait_id: str, answer: Answer, now: int) -> bool:
        """Store an answer; the first one wins. Return False if there was one already."""
        ...

    def close(self, execution_id: str, now: int) -> None:
        """Withdraw every open question of an execution that ends."""
        ...

    def due(self, now: int, limit: int) -> list[Wait]: ...

    def next_due(self) -> int | None: ...


class Deliveries(Protocol):
    def next_seq(self, address: Address) -> int:
        """Return the next number of the channel from a counter row, so that numbers follow the order of commits."""
        ...

    def add(self, delivery: Delivery) -> None: ...

    def get(self, delivery_id: str) -> Delivery | None: ...

    def set_state(
        self,
        delivery_id: str,
        state: DeliveryState,
        now: int,
        *,
        platform_id: str | None = None,
        error: str | None = None,
    ) -> None: ...


class Timeline(Protocol):
    """Timeline entries that no other row contains: retries, crashes, interruptions (all others are derived)."""

    def note(self, message_ids: Sequence[str], step: str, data: Mapping[str, Any], now: int) -> None: ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` notes created before this time; return their number."""
        ...

    def of_last(self, conversation_id: str, principal_id: str) -> MessageTimeline | None:
        """Return the timeline of the newest message of a conversation that an agent was asked to answer."""
        ...

    def of_last_unasked(self, address: Address, principal_id: str | None) -> MessageTimeline | None:
        """Return the timeline of the newest message in this channel that was dropped or expired; None: by any author."""
        ...


class Usage(Protocol):
    def add(
        self,
        call: ModelCall,
        *,
        execution_id: str,
        job_id: str,
        agent_id: str | None,
        principal_id: str | None = None,
        client_id: str | None = None,
    ) -> bool:
        """Store a receipt; return False if it exists already."""
        ...

    def take_back(self, call_id: str, error: str) -> tuple[int, int] | None:
        """Delete a receipt with this error; return its cost (micros) and the start of the call (ms), or None if there
        is none."""
        ...

    def cost_of(self, execution_id: str) -> int:
        """Return the cost of the model calls of one execution, in micros."""
        ...

    def of_person(self, principal_id: str, since: int) -> UsageSums:
        """Return sums over the calls for one person that ended from this time on; only calls, tokens in and out, and
        cost."""
        ...


class Accounts(Protocol):
    """Accounts that were entered in the product; those of the configuration have no row."""

    def all(self) -> list[StoredAccount]:
        """Return accounts in the order of their names."""
        ...

    def by_name(self, name: str) -> StoredAccount | None: ...

    def add(self, account: StoredAccount, now: int) -> bool:
        """Add an account; return False if the name exists."""
        ...

    def update(self, account: StoredAccount, now: int) -> None:
        """Update everything except id, name and creation time."""
        ...

    def remove(self, name: str) -> bool:
        """Delete an account; return False if none has this name."""
        ...


class Variables(Protocol):
    """Variables. Secret values are sealed when they are stored and returned."""

    def get(self, key: str) -> Variable | None: ...

    def after(self, key: str, limit: int) -> Sequence[Variable]:
        """Return variables after this key ("": from the first one), in the order of their keys."""
        ...

    def put(self, variable: Variable, now: int) -> None: ...

    def remove(self, key: str) -> bool:
        """Delete a variable; return False if there is no such key."""
        ...


class Cooldowns(Protocol):
    """Cooldowns of accounts that refused."""

    def all(self) -> list[Cooldown]: ...

    def put(self, cooldown: Cooldown) -> None:
        """Store a cooldown, unless a later observation is stored."""
        ...


class KeyValues(Protocol):
    """Values that the daemon keeps for itself between restarts."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str, now: int) -> None: ...


class Settings(Protocol):
    """Values that a person has set."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str, now: int) -> None: ...


@dataclass(frozen=True, slots=True)
class RoleLease:
    """The lease of a role that only one process may hold; `owner` is a boot id (None: released). `claim` counts
    take-overs, `beat` the holder's heartbeats."""

    name: str
    owner: str | None
    node: str
    claim: int
    beat: int


class RoleLeases(Protocol):
    """Leases of roles. No clocks are compared: a process that wants a role waits until `beat` stops changing."""

    def find(self, name: str) -> RoleLease | None: ...

    def take(self, name: str, owner: str, node: str, seen: RoleLease | None) -> RoleLease | None:
        """Take a role over from the lease that was read (None: no process ever held it); return None if it has
        changed."""
        ...

    def renew(self, lease: RoleLease) -> bool:
        """Increase `beat`; return False if another process has taken the role."""
        ...

    def release(self, lease: RoleLease) -> None:
        """Release the role, if it is still held."""
        ...

    def held(self, lease: RoleLease) -> bool:
        """Return whether this lease is still valid, for the scripts that it fences."""
        ...
