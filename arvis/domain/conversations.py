"""Conversations: one per agent and place, with the counters that give messages their order."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.messages import Address


@dataclass(frozen=True, slots=True)
class Conversation:
    """`turns` counts the turns that have ended; the next reply takes the number after it. Times in ms."""

    id: str
    agent_id: str
    address: Address
    turns: int
    created_at: int

    @property
    def lane(self) -> str:
        """Turns of one conversation run one at a time, in order."""
        return conversation_lane(self.id)


def conversation_lane(conversation_id: str) -> str:
    return f"conversation:{conversation_id}"
