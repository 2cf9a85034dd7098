"""The door that connectors knock at. When a method returns, its outcome is committed: acknowledge the platform only then.

Each is about one event of the platform and keyed by it: the same event again changes nothing and is answered the same.
No model is called; it takes milliseconds. All raise `Unavailable` (a full disk) when nothing was kept: let the platform
bring the event again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Address, FeedPosition, IncomingMessage, MessageStatus
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a message. `duplicate`: this event was there already and nothing was created; `differs`: with other
    words. `reason` is the routing or refusal code."""

    message_id: str
    status: MessageStatus
    reason: str
    duplicate: bool = False
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Clicked:
    """What to tell whoever pressed a button. `done`: it was the answer, and the buttons can go."""

    text: str
    done: bool


class Inbox(Protocol):
    async def receive(self, message: IncomingMessage) -> Received:
        """Accept, observe or drop a message."""
        ...

    async def edit(self, edit: MessageEdit) -> None:
        """Before its turn starts the text of the message is replaced, later the edit is only recorded."""
        ...

    async def delete(self, deletion: MessageDeletion) -> None:
        """Before its turn starts the message is withdrawn, later the deletion is only recorded."""
        ...

    async def click(self, click: Click) -> Clicked:
        """A button that answers a question or stops a turn; only for those who may."""
        ...

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        """A channel has a new id: its bindings, conversations and everything on its way go along."""
        ...

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        """The bot was let into a channel again."""
        ...

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        """The bot was put out of a channel, or blocked by the person there."""
        ...

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        """Everything up to here is done with, without anything to keep."""
        ...

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        """How far this bot has read; None when it never did."""
        ...

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        """The position of every feed of this bot, at most the 1,000 furthest."""
        ...

    async def stop(self, address: Address, by: str) -> int:
        """Cancel the turns that run in this place; how many there were."""
        ...
