"""Reactions of people to messages of a bot, and their feedback on answers."""

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
    words = " ".join(answer.split())
    quoted = words if len(words) <= _QUOTED else f"{words[:_QUOTED].rstrip()}…"
    return f"{' '.join(name.split())[:_QUOTED]} reacted with {emoji} to your message “{quoted}”."
