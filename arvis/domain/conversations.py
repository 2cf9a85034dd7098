"""Conversations, and the summaries that replace their older messages in prompts."""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address
from arvis.domain.taint import Taint

#: The maximum age of overheard messages in a prompt (ms): one day.
OBSERVED_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one agent in one channel, thread or direct chat. Times in ms."""

    id: str
    agent_id: str
    address: Address
    created_at: int
    #: True if only one person and the agent write in the conversation.
    direct: bool = False
    #: The name of the channel, as the platform last reported it.
    room: str = ""
    #: False if the agent neither stores facts from the conversation nor uses facts in it.
    remembers: bool = True
    #: The reasoning effort that people have chosen for the conversation; None: the effort of the agent.
    effort: str | None = None

    @property
    def lane(self) -> str:
        """The lane of this conversation's turns, which run one at a time, in order."""
        return conversation_lane(self.id)


def conversation_lane(conversation_id: str) -> str:
    return f"conversation:{conversation_id}"


class CompactionStatus(StrEnum):
    """The status of a summary."""

    #: Prompts contain the summary instead of the messages. The messages can still be restored.
    ACTIVE = "active"
    #: Prompts contain the messages again.
    RESTORED = "restored"
    #: Prompts contain the summary, and the texts of the messages were deleted.
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary of the turns `first_turn` to `last_turn`. Times in ms."""

    id: str
    conversation_id: str
    execution_id: str
    first_turn: int
    last_turn: int
    summary: str
    #: The estimated number of tokens of the summary.
    tokens: int
    taint: Taint
    #: The number of messages in a prompt before the summary was made, and the number afterwards.
    messages_before: int
    messages_after: int
    tokens_saved: int
    status: CompactionStatus
    created_at: int
    #: The references to results and files of the messages, with their names.
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationVersion:
    """One of several continuations of a conversation from the same point on. Time in ms."""

    id: str
    conversation_id: str
    #: The id of the first version that continues from this point. All versions of the point share it.
    point_id: str
    #: The first turn of the first version. This turn and all turns with higher numbers come after the point.
    first_turn: int
    #: The first message of this version.
    message_id: str
    #: True if the messages of this version are used. Only one version of each point is active.
    active: bool
    created_at: int


@dataclass(frozen=True, slots=True)
class EarlierEffect:
    """A completed tool call or action of a turn. It is not undone when the turn becomes inactive."""

    #: The id of the execution that made the call or action.
    execution_id: str
    #: The name of the tool, or the kind of the action.
    name: str
    #: The arguments of the call or the report of the action, shortened.
    detail: str
    #: True if the call reported an error. A failed call may still have changed something.
    failed: bool = False


@dataclass(frozen=True, slots=True)
class EarlierEffects:
    """The effects of the turns that a rewind makes inactive."""

    turns: int = 0
    #: The number of the agents' messages on chat platforms, where they stay visible.
    sent: int = 0
    cost_micros: int = 0
    effects: tuple[EarlierEffect, ...] = ()
