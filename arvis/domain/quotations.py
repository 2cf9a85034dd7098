"""Quotations: texts of other messages that a person answers, quotes or forwards with a message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.taint import CLEAN, Taint, taint_of, taint_text

#: The maximum number of quotations of a message, and the maximum number of characters of the text of each.
MOST_QUOTATIONS = 5
LONGEST_QUOTATION = 4_000
#: The maximum number of characters of a quotation if the prompt also contains the quoted message.
LONGEST_BEGINNING = 200
_LONGEST_NAME = 40
#: Characters that are removed from names, because with them a name could look like the end of the heading.
_NOT_IN_NAMES = regex(r"[#:\[\]<>]")


class QuotationKind(StrEnum):
    #: The message to which the person replies, or the selected part of it.
    REPLY = "reply"
    #: A message that the person forwards.
    FORWARD = "forward"
    #: The first message of the thread in which the person writes.
    THREAD = "thread"


class Writer(StrEnum):
    """The author of a quoted message, as seen by the agent."""

    #: The bot: the agent itself, or another agent of the same bot.
    AGENT = "agent"
    #: The person who sent the message with the quotation.
    SENDER = "sender"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Quotation:
    kind: QuotationKind
    writer: Writer
    #: The quoted text. It is empty if the text of a forwarded message is the content of the message, and if the quoted
    #: message has only files.
    text: str = ""
    #: The display name of the author; empty if the platform does not report it.
    author: str = ""
    #: The platform's id of the author; empty if unknown.
    author_id: str = ""
    #: The platform's id of the quoted message; None if the quoted message is not in the channel of this message.
    ref: str | None = None
    #: The id of the quoted message, if it is stored in the conversation of this message.
    message_id: str | None = None
    #: True if `text` is only a part of the quoted message.
    partial: bool = False
    #: The labels that the message has only because of this quotation.
    adds: Taint = CLEAN


def is_forward(quotations: Sequence[Quotation]) -> bool:
    """Return True if the content of a message with these quotations is the text of a forwarded message."""
    return any(each.kind is QuotationKind.FORWARD and not each.text for each in quotations)


def own_taint(taint: Taint, quotations: Sequence[Quotation]) -> Taint:
    """Return the labels of the content of a message, without the labels that the message has only because of its
    quotations."""
    return taint.difference(*(each.adds for each in quotations)) if quotations else taint


def quoted_texts(quotations: Sequence[Quotation]) -> list[str]:
    return [each.text for each in quotations if each.text]


def with_quotations(content: str, quotations: Sequence[Quotation]) -> str:
    """Return the content, preceded by the quotations. Every quoted line begins with `> `, so that it cannot look like a
    text of the person. The caller must escape the result for a prompt."""
    if not quotations:
        return content
    blocks = [_block(each, each.text) for each in quotations if each.text or each.kind is not QuotationKind.FORWARD]
    if is_forward(quotations):
        forward = next(each for each in quotations if each.kind is QuotationKind.FORWARD and not each.text)
        return "\n".join([*blocks, _block(forward, content)])
    return "\n".join([*blocks, content] if content else blocks)


def _block(quotation: Quotation, text: str) -> str:
    heading = f"[{_heading(quotation)}{':' if text else '.'}]"
    return "\n".join([heading, *(f"> {line}" for line in _lines(quotation, text))])


def _heading(quotation: Quotation) -> str:
    whose = _whose(quotation)
    match quotation.kind:
        case QuotationKind.FORWARD:
            return f"Forwarded: {whose}"
        case QuotationKind.THREAD:
            return f"This thread began with {whose}"
        case QuotationKind.REPLY:
            part = "a part of " if quotation.partial and quotation.message_id is None else ""
            return f"Reply to {part}{whose}"


def _whose(quotation: Quotation) -> str:
    match quotation.writer:
        case Writer.AGENT:
            return "your own message" if quotation.kind is not QuotationKind.FORWARD else "a message of this bot"
        case Writer.SENDER:
            return "an earlier message of the same person"
        case Writer.OTHER:
            name = _NOT_IN_NAMES.sub("", " ".join(quotation.author.split()))[:_LONGEST_NAME].strip()
            return f"a message of {name}" if name else "a message of another person"


def _lines(quotation: Quotation, text: str) -> Iterator[str]:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        more = quotation.partial and number == len(lines) and not line.endswith("…")
        yield f"{line} …" if more else line


# -- the stored form -----------------------------------------------------------------------------------------------------


def quotations_text(quotations: Sequence[Quotation]) -> str:
    """Return the stored form of these quotations; "" if there are none."""
    if not quotations:
        return ""
    return json.dumps([_to_json(each) for each in quotations], ensure_ascii=False, separators=(",", ":"))


def quotations_of(text: str) -> tuple[Quotation, ...]:
    """Return the quotations from their stored form."""
    return tuple(_from_json(each) for each in json.loads(text)) if text else ()


def _to_json(each: Quotation) -> dict[str, Any]:
    fields = {
        "kind": each.kind,
        "writer": each.writer,
        "text": each.text,
        "author": each.author,
        "authorId": each.author_id,
        "ref": each.ref,
        "messageId": each.message_id,
        "partial": each.partial,
        "adds": taint_text(each.adds),
    }
    return {name: value for name, value in fields.items() if value}


def _from_json(kept: Mapping[str, Any]) -> Quotation:
    return Quotation(
        kind=QuotationKind(kept["kind"]),
        writer=Writer(kept["writer"]),
        text=kept.get("text", ""),
        author=kept.get("author", ""),
        author_id=kept.get("authorId", ""),
        ref=kept.get("ref"),
        message_id=kept.get("messageId"),
        partial=kept.get("partial", False),
        adds=taint_of(kept.get("adds", "")),
    )
