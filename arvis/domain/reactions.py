"""Reactions of people to messages of a bot, their feedback on answers, and edits of messages that were already read."""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, FeedPosition, Sender
from arvis.domain.regex import regex

#: Characters that only change the appearance of an emoji: skin tones, and selectors of its style.
_LOOKS = regex("[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f]")
_LONGEST = 64
#: The maximum number of characters of the answer that a line about a reaction quotes.
_QUOTED = 80
#: The maximum number of characters of the new text that a line about an edit quotes.
_EDITED = 600
#: In place of an emoji: the person has edited a message after its turn began. Names of emoji are between colons.
EDITED = "edited"


class Rating(StrEnum):
    """A person's feedback on an answer."""

    UP = "up"
    DOWN = "down"


_RATINGS = {"👍": Rating.UP, "👎": Rating.DOWN}


@dataclass(frozen=True, slots=True)
class ReactionChange:
    """The event that a person added reactions to a message or removed some. A repeated event has no further effect."""

    address: Address
    sender: Sender
    #: The platform's id of the message.
    ref: str
    #: Symbols, or names between colons.
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: The platform's id of the event; None if the platform reports none.
    event_id: str | None = None
    position: FeedPosition | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """The rating of an answer by a person. Time in ms."""

    message_id: str
    principal_id: str
    rating: Rating
    at: int
    #: The name of the person.
    name: str = ""
    platform: str = ""
    user_id: str = ""


def plain(emoji: str) -> str:
    """Return an emoji without variants, or a name, on one line and with a bounded length."""
    return "".join(_LOOKS.sub("", emoji).split())[:_LONGEST]


def rating_of(emoji: str) -> Rating | None:
    return _RATINGS.get(emoji)


def reaction_line(name: str, emoji: str, answer: str) -> str:
    """Return the line that reports a reaction to the agent."""
    return f"{_on_one_line(name)} reacted with {emoji} to your message “{_on_one_line(answer)}”."


def edit_line(name: str, before: str, now: str) -> str:
    """Return the line that reports an edit to the agent, which has already read the earlier text."""
    changed = f"It now says: “{_on_one_line(now, _EDITED)}”." if now.strip() else "It now has no text."
    return f"{_on_one_line(name)} edited the message “{_on_one_line(before)}”. {changed}"


def _on_one_line(text: str, most: int = _QUOTED) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[:most].rstrip()}…"
