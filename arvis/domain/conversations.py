"""Conversations, and the summaries that replace their older messages in prompts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Address
from arvis.domain.taint import Taint


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one agent in one channel, thread or direct chat. `turns` counts the ended turns; the next turn
    that ends gets the number `turns + 1`. `direct`: only one person and the agent write here. Times in ms."""

    id: str
    agent_id: str
    address: Address
    turns: int
    created_at: int
    direct: bool = False

    @property
    def lane(self) -> str:
        """The lane of this conversation's turns, which run one at a time, in order."""
        return conversation_lane(self.id)


def conversation_lane(conversation_id: str) -> str:
    return f"conversation:{conversation_id}"


class CompactionStatus(StrEnum):
    """The status of a summary. `active`: prompts contain the summary instead of its messages, which can still be
    restored. `restored`: prompts contain the messages again. `final`: the texts of the messages were deleted."""

    ACTIVE = "active"
    RESTORED = "restored"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary of the turns `first_turn` to `last_turn`. `messages_before` and `messages_after` count the messages
    in prompts before and after the summary was made; `tokens` estimates the size of the summary. Times in ms."""

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
