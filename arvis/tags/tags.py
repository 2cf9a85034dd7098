"""The final text of a model, read once: visible text, actions, and status."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from arvis.domain.effects import EffectKind, Proposal
from arvis.domain.markup import Tag, scan, visible
from arvis.domain.markup_grammar import (
    BLOCKED,
    CONTINUE,
    DELEGATE,
    DONE,
    EXECUTOR_BLOCKED,
    EXECUTOR_DONE,
    HANDOVER,
    MEMORY,
    METADATA,
    STATE,
)
from arvis.domain.memory import Category
from arvis.tags.conductor import CONDUCTOR_TAGS, read_conductor

# -- wrappers: the status that an agent reports (behaviour 2.2) --------------------------------------------------------


class Status(StrEnum):
    """The first in this order wins when a reply holds several."""

    BLOCKED = "blocked"
    DONE = "done"
    CONTINUE = "continue"


_NAMES = {
    Status.BLOCKED: {BLOCKED, EXECUTOR_BLOCKED},
    Status.DONE: {DONE, EXECUTOR_DONE},
    Status.CONTINUE: {CONTINUE},
}

#: Shown if a wrapper contains no text.
GOING_ON = "Working on it."
STUCK = "I am stuck and need your help."


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The content of a wrapper, as far as its status has it; `visible` is the text that people see of the whole
    reply."""

    status: Status
    result: str
    reason: str
    requirements: str
    report: str
    visible: str


def wrapper_of(tags: Sequence[Tag], prose: str) -> Wrapper | None:
    """Return the wrapper, or None without one: then the work is in progress, or done if that is the default. `prose`
    is the visible text without wrappers."""
    for status, names in _NAMES.items():
        body = next((tag.body for tag in tags if tag.name in names), None)
        if body is not None:
            return _read_wrapper(status, body, prose)
    return None


def _read_wrapper(status: Status, body: str, prose: str) -> Wrapper:
    result = reason = requirements = report = ""
    shown = prose
    match status:
        case Status.DONE:
            result = _field(body, "KEY_RESULT") or _first_line(body)
        case Status.BLOCKED:
            reason = _field(body, "BLOCKER_REASON") or _first_line(body)
            requirements = _field(body, "UNBLOCK_REQUIREMENTS")
            shown = "\n\n".join(filter(None, [prose, reason, requirements])) or STUCK
        case Status.CONTINUE:
            report = _field(body, "STATUS_REPORT|STATUS_MESSAGE") or _first_line(body)
            shown = prose or report or GOING_ON
    return Wrapper(status, result, reason, requirements, report, shown)


def _field(body: str, names: str) -> str:
    """Return the first of these tags that is closed; a wrapper may contain other tags, which people must not see."""
    found = re.search(rf"<({names})>(.*?)</\1>", body, re.ASCII | re.IGNORECASE | re.DOTALL)
    return visible(found[2]) if found else ""


def _first_line(body: str) -> str:
    return visible(body).partition("\n")[0].rstrip()


# `[DELEGATE:slug] task [/DELEGATE]`, or `[DELEGATE:slug report]` if the agent wants to get the answer.


# `[HANDOVER:slug] words [/HANDOVER]`: the conversation continues with another agent (behaviour 5.7). It means the
# same as the attribute `destinationAgent` of a reply; the words are part of the message.


# `[MEMORY:category] fact` and `[STATE:key] value`.


# `<response-metadata>` with its `<attributes>` (behaviour 5.2).


def read_delegation(tag: Tag, ordinal: int) -> Proposal:
    slug, _, wish = tag.argument.partition(" ")
    fields = {"text": tag.body, "report": bool(wish)}
    problem = tag.problem or (None if tag.body else "it contains no task")
    return Proposal(ordinal, EffectKind.DELEGATE, slug.lower(), fields, problem)


#: The attribute that names the agent who gets the conversation.
DESTINATION = "destinationAgent"


@dataclass(frozen=True, slots=True)
class Handover:
    to: str
    text: str


def handover_of(tags: Sequence[Tag]) -> Handover | None:
    """The first one that can be read."""
    found = next((tag for tag in tags if tag.name == HANDOVER and tag.problem is None), None)
    return Handover(found.argument.lower(), visible(found.body)) if found is not None else None


_NAMED_OTHERWISE = {"preference": Category.USER_PREFERENCE, "fact": Category.LEARNED_PATTERN}
_KNOWN = {category.value: category for category in Category} | _NAMED_OTHERWISE

_EMPTY = "it is empty"


def category_of(word: str) -> Category:
    """Return the category of a model's word; a fact with an unknown category is still stored."""
    return _KNOWN.get(word.lower(), Category.LEARNED_PATTERN)


def read_memory(tag: Tag, ordinal: int) -> Proposal:
    problem = tag.problem or (None if tag.body else _EMPTY)
    return Proposal(ordinal, EffectKind.REMEMBER, category_of(tag.argument).value, {"text": tag.body}, problem)


def read_state(tag: Tag, ordinal: int) -> Proposal:
    problem = tag.problem or (None if tag.body else _EMPTY)
    return Proposal(ordinal, EffectKind.STATE, tag.argument, {"text": tag.body}, problem)


_ATTRIBUTES = re.compile(r"<attributes>(.*?)</attributes>", re.ASCII | re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"\s*<(?P<name>[A-Za-z_][\w.-]{0,63})>(?P<value>[^<]*)</(?P=name)>\s*", re.ASCII)
_PLAIN_TEXT = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def attributes_of(tags: Sequence[Tag]) -> Mapping[str, str]:
    """Return names and trimmed values of the first block, without empty ones; an empty result if the block is broken."""
    block = next((tag.body for tag in tags if tag.name == METADATA), "")
    found = _ATTRIBUTES.search(block)
    return _read(_PLAIN_TEXT.sub(lambda data: html.escape(data[1]), found[1])) if found else {}


def _read(text: str) -> dict[str, str]:
    """Read the attributes, which are not nested."""
    values: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _ATTRIBUTE.match(text, position)
        if found is None:
            return values if not text[position:].strip() else {}
        if value := html.unescape(found["value"]).strip():
            values.setdefault(found["name"], value)
        position = found.end()
    return values


#: The order in which proposals are carried out (behaviour 1.9), so that a cron may name an agent of the same reply;
#: the other tags about agents come after these two, everything else in the order of `_LATER`.
_FIRST = (EffectKind.CREATE_AGENT, EffectKind.UPDATE_AGENT)
_LATER = ("CLIENT", "CRON", "HEARTBEAT", "DELEGATE", "REMEMBER", "STATE")


@dataclass(frozen=True, slots=True)
class Reply:
    """`visible` is for people: the text without tags, or what a wrapper shows instead (behaviour 2.2)."""

    visible: str
    proposals: tuple[Proposal, ...] = ()
    wrapper: Wrapper | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


def read(text: str) -> Reply:
    """Parse a whole reply, never other text: texts of tools, people or the history contain no commands."""
    scanned = scan(text)
    attributes, prose = attributes_of(scanned.tags), scanned.visible
    if (handed := handover_of(scanned.tags)) is not None:
        attributes = {**attributes, DESTINATION: handed.to}
        prose = "\n\n".join(filter(None, [prose, handed.text]))
    wrapper = wrapper_of(scanned.tags, prose)
    return Reply(
        visible=wrapper.visible if wrapper else prose,
        proposals=_proposals(scanned.tags),
        wrapper=wrapper,
        attributes=attributes,
    )


def _proposals(tags: Sequence[Tag]) -> tuple[Proposal, ...]:
    found: list[Proposal] = []
    for tag in tags:
        proposal = _proposal(tag, len(found) + 1)
        if proposal is not None:
            found.append(proposal)
    return tuple(sorted(found, key=lambda proposal: _rank(proposal.kind)))


def _proposal(tag: Tag, ordinal: int) -> Proposal | None:
    match tag.name:
        case name if name == MEMORY:
            return read_memory(tag, ordinal)
        case name if name == STATE:
            return read_state(tag, ordinal)
        case name if name == DELEGATE:
            return read_delegation(tag, ordinal)
        case name if name in CONDUCTOR_TAGS:
            return read_conductor(tag, ordinal)
        case _:
            return None


def _rank(kind: EffectKind) -> int:
    if kind in _FIRST:
        return _FIRST.index(kind)
    word = kind.name.rpartition("_")[2].removesuffix("S")
    return len(_FIRST) + 1 + _LATER.index(word) if word in _LATER else len(_FIRST)
