"""The door that connectors knock at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Address, IncomingMessage, MessageStatus


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a message. `duplicate`: this event was there already and nothing was created;
    `reason` is the routing or refusal code."""

    message_id: str
    status: MessageStatus
    reason: str
    duplicate: bool = False


class Inbox(Protocol):
    async def receive(self, message: IncomingMessage) -> Received:
        """Accept or drop a message. When it returns, the outcome is committed: acknowledge the platform
        only then. No model is called; it takes milliseconds. Raises `Unavailable` (a full disk) when nothing was
        kept: let the platform bring the message again."""
        ...

    async def stop(self, address: Address, by: str) -> int:
        """Cancel the turns that run in this place; how many there were."""
        ...
