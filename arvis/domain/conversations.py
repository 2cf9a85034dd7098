"""Conversations: one per agent and place, with the counters that give messages their order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Address
from arvis.domain.taint import Taint


@dataclass(frozen=True, slots=True)
class Conversation:
    """`turns` counts the turns that have ended; the next reply takes the number after it. `direct`: only one person and the
    agent talk here. Times in ms."""

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
    """`active`: the summary stands for its messages, which can still be brought back. `restored`: they are back.
    `final`: their texts are past their time and gone."""

    ACTIVE = "active"
    RESTORED = "restored"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that stands for the turns `first_turn` to `last_turn`. `messages_before` and `messages_after` count what
    the prompts of the conversation held; `tokens` is the estimate of the summary. Times in ms."""

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
