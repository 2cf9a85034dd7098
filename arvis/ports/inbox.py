"""The interface through which connectors report events.

Each call reports one event of the platform, and returns after the result of the event is committed. The connector
acknowledges the event to the platform only after the call has returned. A repeated call for the same event changes
nothing and has the same result. No model is called, so a call takes milliseconds. If nothing could be stored, for
example because the disk is full, all methods raise `Unavailable`; the connector then lets the platform report the event
again.
"""

from __future__ import annotations

from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, FeedPosition, IncomingMessage, MessageStatus
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit
from arvis.domain.reactions import ReactionChange


@dataclass(frozen=True, slots=True)
class Received:
    """The result of a received message."""

    message_id: str
    status: MessageStatus
    #: The code of the rule that chose the agent, or of the reason why the message was refused.
    reason: str
    #: True if the event was received before, so that nothing was created.
    duplicate: bool = False
    #: True if the event was received before with another text or other files.
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Clicked:
    """The result of a click."""

    #: The text for the person who pressed the button.
    text: str
    #: True if the question is answered or the turn is stopped, so that the buttons can be removed.
    done: bool


class Inbox(Protocol):
    async def receive(self, message: IncomingMessage) -> Received:
        """Accept a message for an agent, store it as context (an overheard message), or drop it."""
        ...

    async def edit(self, edit: MessageEdit) -> None:
        """Replace the text of an edited message if its turn has not started; otherwise only store that the message was
        edited."""
        ...

    async def delete(self, deletion: MessageDeletion) -> None:
        """Cancel the turn of a deleted message if the turn has not started; otherwise only store that the message was
        deleted."""
        ...

    async def react(self, change: ReactionChange) -> None:
        """Store the changed reactions of a person to a message of the bot, if this person may ask the agent."""
        ...

    async def click(self, click: Click) -> Clicked:
        """Handle a click on a button that answers a question or stops a turn, if the person has the right to do so."""
        ...

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        """Store that a channel has a new id, and move its bindings, conversations and waiting work to the new id."""
        ...

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        """Store that the bot has access to a channel again."""
        ...

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        """Store that the bot was removed from a channel, or that the person in a direct chat blocked the bot."""
        ...

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        """Store the position up to which the bot has read a feed. The events up to this position need not be
        reported."""
        ...

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        """Return the position up to which this bot has read the feed (its event queue, or the history of a channel);
        None if it has never read the feed."""
        ...

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        """Return the read positions of this bot by feed. If there are more than 1,000, return the 1,000 highest
        positions."""
        ...

    async def stop(self, address: Address, by: str) -> int:
        """Cancel the open turns in this channel, and return their number. `by` is the name of the person."""
        ...
