"""Repositories of a transaction for the central tables. Other modules of `ports` contain the other repositories.

All times are integer milliseconds. All ids are texts that sort by creation time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.agents import Agent, AgentVersion, Binding
from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass
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
        """Return the user messages that an execution answers, oldest first, with their attachments."""
        ...

    def join_turn(self, joining: str, execution_id: str, *, behind: int = 0) -> None:
        """Move the user messages of the execution `joining` to the execution `execution_id`, which then answers them.
        `behind` is added to their positions, so that they follow the existing messages."""
        ...

    def move(self, message_id: str, execution_id: str, position: int) -> None:
        """Move a user message to this position of another execution, and reset its status to unanswered."""
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
        """Store the final status of a turn's user messages, and the turn's number in the conversation. If `straight` is
        True, the turn has no progress messages, so none are updated."""
        ...

    def answered_by(self, message_id: str, reply_id: str) -> None:
        """Store that the message `reply_id` answers a message that is not part of a turn."""
        ...

    def mark_turn(self, execution_id: str, status: MessageStatus, reason: str | None = None) -> None:
        """Set the status of the user messages of an open turn: accepted or waiting."""
        ...

    def progress(self, execution_id: str) -> list[StoredMessage]:
        """Return the progress messages of a turn, in order, at most 200."""
        ...

    def reopen_turn(self, execution_id: str) -> None:
        """Reopen an ended turn for a retry: reset its messages, and hide the notice about its failure."""
        ...

    def history(self, conversation_id: str, limit: int) -> Sequence[PastMessage]:
        """Return the newest `limit` messages that belong to ended turns and are not replaced by a summary, oldest
        first."""
        ...

    def of_past_turn(self, conversation_id: str, turn: int) -> list[StoredMessage]:
        """Return the messages of the ended turn with this number, with their files and rounds, in order."""
        ...

    def recent(self, conversation_id: str, principal_id: str, limit: int, *, since: int = 0) -> list[int]:
        """Return the times (ms), from `since` on, of this person's newest messages in the conversation, newest
        first."""
        ...

    def label(self, message_id: str, taint: Taint) -> None:
        """Store the taint of a message."""
        ...


#: An entry of the vocabulary of the search index: a key, and the word that is found by this key.
Key: TypeAlias = tuple[str, str]


class MessageIndex(Protocol):
    """The search index of messages. New messages are added after their commit, by `advance`. A repository that changes
    the text of a message also updates the index."""

    def unindexed(self, since: str | None = None) -> Sequence[str]:
        """Return the texts of the messages that `advance` will add next; none if the index is complete. With `since`,
        examine all messages with higher ids than `since`, not only messages after the last added message. This is
        necessary if several processes use the database: a message may be committed after messages with higher ids were
        added."""
        ...

    def new_keys(self, words: Collection[str]) -> Sequence[Key]:
        """Return keys for the words that the vocabulary does not contain yet. This takes long for new words, so it
        should not be called in a transaction that writes."""
        ...

    def advance(
        self, words: Mapping[str, Sequence[str]], since: str | None = None, *, keys: Sequence[Key] = ()
    ) -> str | None:
        """Add the next messages, and return the id of the last one (None if the index is complete). `words` are the
        words of some texts (`domain.search.message_words`); the words of the other texts are computed. `keys` are added
        to the vocabulary."""
        ...

    def is_outdated(self) -> bool:
        """Return True if the index was built with earlier rules, or if the row numbers of the messages have changed
        since then."""
        ...

    def clear(self) -> None:
        """Remove all messages from the index, so that they are added again."""
        ...

    def erasures(self) -> int | None:
        """Return the number of removals of words so far; None if the files of the database contain no removed words any
        more."""
        ...

    def purge(self, *, begin: bool) -> bool:
        """Rewrite the next part of the index without removed words. `begin` is True in the first call of a pass. Return
        whether another call is necessary."""
        ...

    def drop_words(self, after: str) -> str | None:
        """Remove words that no message contains any more from the vocabulary. Check some of the words that follow
        `after`, and return the last checked word; None at the end of the vocabulary."""
        ...

    def purged(self, erasures: int) -> None:
        """Store that the files of the database no longer contain the words of the first `erasures` removals."""
        ...


class Conversations(Protocol):
    def open(self, agent_id: str, address: Address, now: int, *, direct: bool = False, room: str = "") -> Conversation:
        """Return the active conversation of this agent in this channel; create one if there is none. `direct` stores
        that only one person writes there. A later call without `direct` does not change that."""
        ...

    def close(self, conversation_id: str, now: int) -> None:
        """Close a conversation, so that the next message in its channel begins a new one. Turns that are still running
        end in the closed conversation."""
        ...

    def get(self, conversation_id: str) -> Conversation | None: ...

    def set_remembers(self, conversation: Conversation, *, remembers: bool) -> None:
        """Set `remembers` of all conversations of the same agent in the same channel."""
        ...

    def set_effort(self, conversation_id: str, effort: str | None) -> None:
        """Set the reasoning effort of a conversation; None: the effort of the agent."""
        ...

    def in_place(self, address: Address) -> list[Conversation]:
        """Return the active conversations of all agents in this channel."""
        ...

    def last_messages(self) -> dict[str, int]:
        """Return the time of the last message in any conversation of each agent, by the agent's id."""
        ...

    def next_turn(self, conversation_id: str, now: int) -> int:
        """Count one more ended turn of the conversation, and return the new count, which is the number of this turn."""
        ...


class Agents(Protocol):
    def get(self, agent_id: str) -> Agent | None: ...

    def by_slug(self, slug: str) -> Agent | None: ...

    def all(self) -> Sequence[Agent]:
        """Return all agents that are not archived, in the order of their creation."""
        ...

    def active_after(self, slug: str, limit: int) -> Sequence[Agent]:
        """Return up to `limit` active agents whose slugs follow `slug`, in the order of their slugs."""
        ...

    def add(self, agent: Agent, now: int) -> None: ...

    def update(self, agent: Agent, now: int) -> None: ...

    def binding_at(self, platform: str, channel: str) -> Binding | None: ...

    def bindings(self, agent_id: str | None = None) -> Sequence[Binding]: ...

    def bind(self, binding: Binding, now: int) -> None: ...

    def unbind(self, platform: str, channel: str) -> bool:
        """Remove a binding; return False if no agent is bound there."""
        ...

    def keep_version(self, version: AgentVersion) -> None: ...

    def versions(self, agent_id: str, limit: int) -> list[AgentVersion]:
        """Return the versions of an agent, newest first."""
        ...


class Executions(Protocol):
    def add(self, execution: Execution) -> None:
        """Add an execution that has made no step. Its first position, `Cursor.start`, is not stored."""

    def put_below(self, execution_id: str, above: str) -> None: ...

    def get(self, execution_id: str) -> Execution | None: ...

    def save(self, execution: Execution) -> None:
        """Store graph, version, state, status, result, steps and error of an execution."""
        ...

    def set_status(self, execution_id: str, status: ExecutionStatus, error: str | None, now: int) -> None: ...

    def discard(self, execution_id: str) -> None:
        """Delete an execution whose message joined another turn. It has made no step yet."""
        ...

    def cursors(self, execution_id: str) -> list[Cursor]: ...

    def put_cursor(self, cursor: Cursor) -> None: ...

    def drop_cursors(self, execution_id: str, cursor_ids: Sequence[str] | None = None) -> None:
        """Delete these cursors of an execution. If `cursor_ids` is None, delete all its cursors."""
        ...

    def add_steps(self, steps: Sequence[Step]) -> None: ...

    def visited(self, execution_id: str) -> int:
        """Return the number of completed visits of nodes. Steps that only pause, call another execution, repeat a node,
        join cursors or drop a cursor are not counted."""
        ...

    def effects(self, execution_id: str) -> list[Effect]: ...

    def put_effect(self, effect: Effect) -> None: ...

    def below(self, execution_ids: Sequence[str], limit: int) -> list[Execution]:
        """Return the first `limit` executions that were started for these executions, directly or indirectly: called
        executions, delegated tasks and runs."""
        ...

    def children_of(self, execution_id: str) -> list[Execution]: ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` executions that ended before this time, with their steps, effects and waits; return
        their number."""
        ...


class Waits(Protocol):
    def add(self, wait: Wait) -> None: ...

    def get(self, wait_id: str) -> Wait | None: ...

    def of_execution(self, execution_id: str) -> list[Wait]: ...

    def answered(self, execution_id: str) -> set[str]:
        """Return the ids of the answered waits of an execution."""
        ...

    def any_open(self) -> bool:
        """Return whether any execution has an open wait."""
        ...

    def open_in_lane(
        self, lane: str, kind: WaitKind, second: WaitKind | None = None, third: WaitKind | None = None
    ) -> list[Wait]:
        """Return the open waits in a lane that are of one of these kinds, oldest first."""
        ...

    def find_in(self, wait_id: str, lane: str) -> None:
        """Set the lane in which `open_in_lane` finds this wait. Until then, `open_in_lane` finds the wait in the lane
        of its execution."""
        ...

    def shown_as(self, address: Address, ref: str) -> str | None:
        """Return the id of the question that a message of this channel shows; None if the message shows none. `ref` is
        the platform's id of the message, or its id in the database."""
        ...

    def is_overtaken(self, talk: Conversation, wait_id: str, principal_id: str) -> bool:
        """Return whether the agent has sent this person another message in the conversation `talk` since the question
        was last shown."""
        ...

    def answer(self, wait_id: str, answer: Answer, now: int) -> bool:
        """Store the answer to a wait. Return False and change nothing if the wait is already answered."""
        ...

    def close(self, execution_id: str, now: int) -> None:
        """Close all open waits of an execution that has ended, because they need no answer any more."""
        ...

    def due(self, now: int, limit: int) -> list[Wait]: ...

    def next_due(self) -> int | None: ...


class Deliveries(Protocol):
    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` ended deliveries from before this time, with their parts; return their number.
        Deliveries of open questions are kept."""
        ...

    def next_seq(self, address: Address) -> int:
        """Return the number of the next delivery in a channel. A counter row supplies the numbers, so that they follow
        the order of commits."""
        ...

    def add(self, delivery: Delivery) -> None:
        """Add a delivery. If its state is `sent`, the store passes it to `Claimer.sent` after the commit."""
        ...

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
    """The timelines of messages. Only entries that cannot be derived from other rows are stored here: retries, crashes,
    interruptions."""

    def note(self, message_ids: Sequence[str], step: str, data: Mapping[str, Any], now: int) -> None: ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` entries created before this time; return their number."""
        ...

    def of_last(self, conversation_id: str, principal_id: str) -> MessageTimeline | None:
        """Return the timeline of a person's newest message in a conversation, ignoring messages that did not become a
        turn."""
        ...

    def of_last_unasked(self, address: Address, principal_id: str | None) -> MessageTimeline | None:
        """Return the timeline of the newest dropped or expired message of a person in this channel. If `principal_id`
        is None, the message may be of any person."""
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
        """Store the receipt of a model call; return False if it is already stored."""
        ...

    def take_back(self, call_id: str, error: str) -> tuple[int, int] | None:
        """Delete the receipt of a call if the receipt has this error. Such a receipt is an estimate, which a real
        receipt will replace. Return its cost (micros) and the start of the call (ms), or None if there is no such
        receipt."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` receipts of calls from before this time; return their number."""
        ...

    def cost_of(self, execution_id: str) -> int:
        """Return the cost (micros) of the model calls of an execution and its child executions."""
        ...

    def cost_of_all(self, execution_ids: Sequence[str]) -> int:
        """Return the cost (micros) of the model calls of these executions, without their child executions."""
        ...

    def of_person(self, principal_id: str, since: int) -> UsageSums:
        """Return sums over the calls that were made for one person and ended at `since` or later. Only the number of
        calls, the input and output tokens and the cost are set."""
        ...


class Accounts(Protocol):
    """Accounts that people added while the daemon runs. Accounts of the configuration are not stored."""

    def all(self) -> list[StoredAccount]:
        """Return accounts in the order of their names."""
        ...

    def by_name(self, name: str) -> StoredAccount | None: ...

    def add(self, account: StoredAccount, now: int) -> bool:
        """Add an account; return False if the name exists."""
        ...

    def update(self, account: StoredAccount, now: int) -> None:
        """Store the changed values of an account, but not id, name and creation time."""
        ...

    def remove(self, name: str) -> bool:
        """Delete an account; return False if no account has this name."""
        ...


class Variables(Protocol):
    """The variables of tools. The values of secret variables are sealed, both in arguments and in results."""

    def get(self, key: str) -> Variable | None: ...

    def after(self, key: str, limit: int) -> Sequence[Variable]:
        """Return up to `limit` variables whose keys follow `key`, in the order of their keys. If `key` is empty, begin
        with the first variable."""
        ...

    def put(self, variable: Variable, now: int) -> None: ...

    def remove(self, key: str) -> bool:
        """Delete a variable; return False if no variable has this key."""
        ...


class Cooldowns(Protocol):
    """The cooldowns of accounts."""

    def all(self) -> Sequence[Cooldown]: ...

    def put(self, cooldown: Cooldown) -> None:
        """Store a cooldown, unless a later observation of the same account and model is already stored."""
        ...


class KeyValues(Protocol):
    """Values that the daemon stores for itself."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str, now: int) -> None: ...

    def delete(self, key: str) -> None: ...

    def delete_others(self, prefix: str, names: Collection[str]) -> None:
        """Delete the values whose key begins with `prefix`, except the keys that consist of `prefix` and one of the
        `names`."""

    def swap(self, key: str, before: str, value: str, now: int) -> bool:
        """Replace the value `before`. Return False and change nothing if the stored value is a different one."""
        ...


class Settings(Protocol):
    """Values that a person has set."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str, now: int) -> None: ...


@dataclass(frozen=True, slots=True)
class RoleLease:
    """The lease of a role that only one process may have at a time."""

    name: str
    #: The boot id of the process that has the role; None if the role was released.
    owner: str | None
    node: str
    #: The number of times that a process has taken the role over.
    claim: int
    #: The number of times that the owner has renewed the lease.
    beat: int


class RoleLeases(Protocol):
    """The leases of roles. The clocks of different machines are not compared: a process takes a role over if `beat` has
    not changed for some time."""

    def find(self, name: str) -> RoleLease | None: ...

    def take(self, name: str, owner: str, node: str, seen: RoleLease | None) -> RoleLease | None:
        """Take a role over and return the new lease. `seen` is the lease that the caller has read, or None if no
        process has ever had the role. Return None if the stored lease differs from `seen`."""
        ...

    def renew(self, lease: RoleLease) -> bool:
        """Increase `beat`; return False if another process has taken the role over."""
        ...

    def release(self, lease: RoleLease) -> None:
        """Release the role; change nothing if another process has taken it over."""
        ...

    def held(self, lease: RoleLease) -> bool:
        """Return whether this lease is still valid. A script of a role checks this before it changes other rows."""
        ...
