"""What plugins added to the messages of a conversation: kept beside them, shown to the model again, and let go by age
(behaviour.md 5.4, docs/adr/0026). Scripts, and the plan of what to keep.

Only the additions are kept: what people wrote stands in the messages, and in no second place. A kept copy begins with an
empty text where the message's own belongs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.context.retention import Kept, clean, display_copy, persistent_copy
from arvis.domain.plugins import Addition
from arvis.ports.store import Transaction

#: A prompt holds no more messages than this.
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Added:
    """To one message. `shown` is for the turn that answers it, `kept` for those behind it."""

    shown: str
    kept: Kept
    outside: bool

    @classmethod
    def of(cls, additions: Sequence[Addition]) -> Added:
        shown = "".join(display_copy(("",), additions))
        return cls(shown, persistent_copy(("",), additions), any(each.outside for each in additions))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Added:
        return cls(data["shown"], Kept.from_json(data["kept"]), data["outside"])

    def to_json(self) -> dict[str, Any]:
        return {"shown": self.shown, "kept": self.kept.to_json(), "outside": self.outside}


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What messages say besides their own words, by their ids, and what is to be written and dropped for it."""

    texts: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False
    put: Mapping[str, Added] = field(default_factory=dict)
    drop: Collection[str] = ()


def load_added(tx: Transaction, conversation_id: str) -> dict[str, Added]:
    """By the ids of the messages."""
    return {message: Added.from_json(data) for message, data in tx.additions.of(conversation_id, MOST_ROWS)}


def cleaned(
    known: Mapping[str, Added], new: Mapping[str, Added], current: Collection[str], past: Collection[str]
) -> Cleaned:
    """Of a turn: `new` are those of its own messages that had none, `current` all of these, `past` the messages before it.
    What belongs to neither is not in any prompt again."""
    found = {message: known.get(message) or new[message] for message in sorted({*known, *new}) if message in current}
    found |= {message: added for message, added in known.items() if message in past}
    order = sorted(found)
    after = dict(zip(order, clean([found[message].kept for message in order]), strict=True))
    left = {message: Added(found[message].shown, after[message], found[message].outside) for message in order}
    texts = {message: each.shown if message in current else each.kept.added for message, each in left.items()}
    return Cleaned(
        texts={message: text for message, text in texts.items() if text},
        outside=any(left[message].outside for message, text in texts.items() if text),
        put={message: each for message, each in left.items() if known.get(message) != each},
        drop=[message for message in known if message not in left],
    )


def keep_added(tx: Transaction, conversation_id: str, found: Cleaned) -> None:
    for message, added in found.put.items():
        tx.additions.put(message, conversation_id, added.to_json())
    for message in found.drop:
        tx.additions.drop(message)
