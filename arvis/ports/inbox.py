"""The interface through which connectors report events. A method returns after its result is committed: acknowledge the
event to the platform only then.

Each call reports one event of the platform. A repeated call for the same event changes nothing and has the same result.
No model is called, so a call takes milliseconds. If nothing could be stored, for example because the disk is full, all
methods raise `Unavailable`: let the platform report the event again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Address, FeedPosition, IncomingMessage, MessageStatus
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit


@dataclass(frozen=True, slots=True)
class Received:
    """The result of a received message. `duplicate`: the event was received before, so nothing was created; `differs`:
    its text or files were different at that time. `reason` is the code of the routing rule or of the refusal."""

    message_id: str
    status: MessageStatus
    reason: str
    duplicate: bool = False
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Clicked:
    """The result of a click. `text` is for the person who pressed the button. `done`: the question is answered or the
    turn stopped, so the buttons can be removed."""

    text: str
    done: bool


class Inbox(Protocol):
    async def receive(self, message: IncomingMessage) -> Received:
        """Accept a message for an agent, store it as context (an overheard message), or drop it."""
        ...

    async def edit(self, edit: MessageEdit) -> None:
        """Replace the text of an edited message if its turn has not started; otherwise only store that it was
        edited."""
        ...

    async def delete(self, deletion: MessageDeletion) -> None:
        """Cancel the turn of a deleted message if it has not started; otherwise only store that the message was
        deleted."""
        ...

    async def click(self, click: Click) -> Clicked:
        """Handle a click on a button that answers a question or stops a turn, if the person has the right to do so."""
        ...

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        """Store that a channel has a new id; its bindings, conversations and waiting work move to the new id."""
        ...

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        """Store that the bot has access to a channel again."""
        ...

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        """Store that the bot was removed from a channel, or that the person blocked it."""
        ...

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        """Store a read position alone, because the events up to it need no other change."""
        ...

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        """Return the position up to which this bot has read the feed; None if it has never read the feed."""
        ...

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        """Return the read positions of this bot by feed, at most the 1,000 highest ones."""
        ...

    async def stop(self, address: Address, by: str) -> int:
        """Cancel the open turns in this channel, and return their number. `by` is the name of the person."""
        ...
