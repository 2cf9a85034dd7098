"""The port through which connectors deliver events. When a method returns, its outcome is committed: acknowledge the
platform only then.

Each call is about one event of the platform and keyed by it: the same event again changes nothing and gets the same
answer. No model is called; a call takes milliseconds. All methods raise `Unavailable` (a full disk) if nothing was
stored: let the platform deliver the event again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Address, FeedPosition, IncomingMessage, MessageStatus
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit


@dataclass(frozen=True, slots=True)
class Received:
    """The outcome of a message. `duplicate`: this event had been received already and nothing was created; `differs`:
    its text differs from the first one. `reason` is the routing or refusal code."""

    message_id: str
    status: MessageStatus
    reason: str
    duplicate: bool = False
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Clicked:
    """The text for the person who pressed a button. `done`: the click was the answer, and the buttons can be removed."""

    text: str
    done: bool


class Inbox(Protocol):
    async def receive(self, message: IncomingMessage) -> Received:
        """Accept, observe or drop a message."""
        ...

    async def edit(self, edit: MessageEdit) -> None:
        """Record an edit: replace the text of the message if its turn has not started; otherwise only note the edit."""
        ...

    async def delete(self, deletion: MessageDeletion) -> None:
        """Record a deletion: withdraw the message if its turn has not started; otherwise only note the deletion."""
        ...

    async def click(self, click: Click) -> Clicked:
        """Handle a button that answers a question or stops a turn, if the person may do so."""
        ...

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        """Record a channel's new id: its bindings, conversations and pending work move to it."""
        ...

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        """Note that the bot has access to a channel again."""
        ...

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        """Note that the bot was removed from a channel, or blocked by the person there."""
        ...

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        """Note that everything up to here is handled, without anything to store."""
        ...

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        """Return how far this bot has read; None if it never read."""
        ...

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        """Return the position of every feed of this bot, at most the 1,000 furthest."""
        ...

    async def stop(self, address: Address, by: str) -> int:
        """Cancel the turns that run in this channel; return their number."""
        ...
