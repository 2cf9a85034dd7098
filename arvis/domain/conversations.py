"""Conversations: one per agent and channel, with the counters that order messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Address
from arvis.domain.taint import Taint


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one agent in one channel, thread or direct chat. `turns` counts the ended turns; the next reply
    takes the number after it. `direct`: only one person and the agent write here. Times in ms."""

    id: str
    agent_id: str
    address: Address
    turns: int
    created_at: int
    direct: bool = False

    @property
    def lane(self) -> str:
        """Turns of one conversation run one at a time, in order."""
        return conversation_lane(self.id)


def conversation_lane(conversation_id: str) -> str:
    return f"conversation:{conversation_id}"


class CompactionStatus(StrEnum):
    """`active`: prompts hold the summary in place of its messages, which can still be restored. `restored`: prompts
    hold the messages again. `final`: the texts of the messages have expired and were deleted."""

    ACTIVE = "active"
    RESTORED = "restored"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary of the turns `first_turn` to `last_turn`. `messages_before` and `messages_after` count the messages
    in the prompts before and after it; `tokens` estimates the size of the summary. Times in ms."""

    id: str
    conversation_id: str
    execution_id: str
    first_turn: int
    last_turn: int
    summary: str
    tokens: int
    taint: Taint
    messages_before: int
    messages_after: int
    tokens_saved: int
    status: CompactionStatus
    created_at: int
