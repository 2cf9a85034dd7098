"""The rounds of an ended turn, in the bounded form that is stored with the reply for later prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from arvis.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text, or only its beginning and its end if it is too long for storage."""

    #: The whole text, or its beginning.
    head: str
    #: The number of characters of the whole text.
    characters: int
    #: The end of the text; empty if `head` is the whole text.
    tail: str = ""

    @classmethod
    def of(cls, text: str, most: int) -> Self:
        """Return the excerpt with at most `most` characters of the text."""
        if len(text) <= most:
            return cls(text, len(text))
        end = most // 2
        return cls(text[: most - end], len(text), text[len(text) - end :])

    @property
    def whole(self) -> bool:
        return len(self.head) == self.characters

    @property
    def size(self) -> int:
        """The number of stored characters."""
        return len(self.head) + len(self.tail)

    def within(self, most: int, hint: str = "") -> str:
        """Return at most `most` characters of the text. If characters are missing, a line between the beginning and the
        end states their number, followed by `hint`."""
        if self.whole and self.characters <= most:
            return self.head
        shown = min(most, self.size)
        end = shown // 2
        head, tail = self.head[: shown - end], self.tail or self.head
        missing = self.characters - len(head) - end
        return f"{head}\n[… {missing:,} characters omitted{hint} …]\n{tail[len(tail) - end :]}"


@dataclass(frozen=True, slots=True)
class PastCall:
    """A tool call of an ended turn, and its output."""

    #: The name under which models know the tool.
    name: str
    #: The arguments; long texts in them are shortened.
    arguments: Mapping[str, Any]
    output: Excerpt
    failed: bool = False
    #: True if the output is secret. `output` is then empty.
    secret: bool = False
    #: The cursor, the visit and the name of the effect with the whole output; None if `output` is the whole output.
    place: tuple[str, int, str] | None = None
    #: The stored pictures (name, media type, hash) that the tool has shown.
    pictures: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PastRound:
    """A reply with tool calls in an ended turn."""

    #: The text of the reply beside its calls, without tags.
    text: str
    calls: tuple[PastCall, ...]


def rounds_text(rounds: Sequence[PastRound]) -> str:
    """Return the stored form of these rounds; "" if there are none."""
    if not rounds:
        return ""
    return json.dumps([_round_json(each) for each in rounds], ensure_ascii=False, separators=(",", ":"))


def rounds_of(text: str) -> tuple[PastRound, ...]:
    """Return the rounds from their stored form."""
    return tuple(_round(each) for each in json.loads(text)) if text else ()


def _round_json(each: PastRound) -> dict[str, Any]:
    return {"text": each.text, "calls": [_call_json(call) for call in each.calls]}


def _call_json(call: PastCall) -> dict[str, Any]:
    output = {"head": call.output.head, "tail": call.output.tail, "characters": call.output.characters}
    more = {"failed": call.failed, "secret": call.secret, "place": call.place, "pictures": call.pictures}
    return {
        "name": call.name,
        "arguments": dict(call.arguments),
        "output": {name: value for name, value in output.items() if value != ""},
        **{name: value for name, value in more.items() if value},
    }


def _round(kept: Mapping[str, Any]) -> PastRound:
    return PastRound(kept["text"], tuple(_call(each) for each in kept["calls"]))


def _call(kept: Mapping[str, Any]) -> PastCall:
    output, place = kept["output"], kept.get("place")
    return PastCall(
        name=kept["name"],
        arguments=kept["arguments"],
        output=Excerpt(output.get("head", ""), output["characters"], output.get("tail", "")),
        failed=kept.get("failed", False),
        secret=kept.get("secret", False),
        place=None if place is None else (place[0], place[1], place[2]),
        pictures=tuple((name, media_type, sha256) for name, media_type, sha256 in kept.get("pictures", ())),
    )
