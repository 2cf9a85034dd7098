"""Parses the final text of a model once. The result contains the visible text, the proposals and the status."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache

from arvis.domain.dataclass import dataclass
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
from arvis.domain.regex import regex
from arvis.domain.validity import DATE, is_date
from arvis.tags.conductor import CONDUCTOR_TAGS, read_conductor

# -- wrappers: the status that an agent reports ------------------------------------------------------------------------


class Status(StrEnum):
    """The status that an agent reports in a reply. If a reply reports several statuses, the status that comes first in
    this list counts."""

    BLOCKED = "blocked"
    DONE = "done"
    CONTINUE = "continue"


_NAMES = {
    Status.BLOCKED: {BLOCKED, EXECUTOR_BLOCKED},
    Status.DONE: {DONE, EXECUTOR_DONE},
    Status.CONTINUE: {CONTINUE},
}

#: The texts that are shown if a wrapper contains no text.
GOING_ON = "Working on it."
STUCK = "I am stuck and need your help."


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The status that a reply reports, and the texts that belong to it; texts of other statuses are empty. People see
    `visible` instead of the whole reply."""

    status: Status
    result: str
    reason: str
    requirements: str
    report: str
    visible: str


def wrapper_of(tags: Sequence[Tag], prose: str) -> Wrapper | None:
    """Return the wrapper in a reply, or None. `prose` is the visible text outside of all tags."""
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
    """Return the visible text of the first closed tag with one of these names (separated by `|`), or "". Tags inside it
    are removed, because people must not see them."""
    found = re.search(rf"<({names})>(.*?)</\1>", body, re.ASCII | re.IGNORECASE | re.DOTALL)
    return visible(found[2]) if found else ""


def _first_line(body: str) -> str:
    return visible(body).partition("\n")[0].rstrip()


# The other tags:
# - `[DELEGATE:slug] task [/DELEGATE]`, or `[DELEGATE:slug report]` if the agent wants a report of the answer.
# - `[HANDOVER:slug] text [/HANDOVER]`: the conversation continues with another agent. The attribute `destinationAgent`
#   has the same effect. The text becomes a part of the reply.
# - `[MEMORY:category] fact`, with the times `from=`, `until=` and `expires=` behind the category, and `[STATE:key] value`.
# - `<response-metadata>` with its `<attributes>`.


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
    """Return the first handover tag without a problem, or None."""
    found = next((tag for tag in tags if tag.name == HANDOVER and tag.problem is None), None)
    return Handover(found.argument.lower(), visible(found.body)) if found is not None else None


_NAMED_OTHERWISE = {"preference": Category.USER_PREFERENCE, "fact": Category.LEARNED_PATTERN}
_KNOWN = {category.value: category for category in Category} | _NAMED_OTHERWISE

_EMPTY = "it is empty"


def category_of(word: str) -> Category:
    """Return the category with the name that a model wrote. For an unknown name return `LEARNED_PATTERN`, so that the
    fact is still stored."""
    return _KNOWN.get(word.lower(), Category.LEARNED_PATTERN)


def read_memory(tag: Tag, ordinal: int) -> Proposal:
    category, *times = tag.argument.split() or [""]
    stated = {name.lower(): value.strip("\"'") for name, _, value in (each.partition("=") for each in times)}
    wrong = next((name for name, value in stated.items() if not is_date(value)), None)
    problem = tag.problem or (None if tag.body else _EMPTY)
    if problem is None and wrong is not None:
        problem = f"`{wrong}` must be {DATE}"
    return Proposal(ordinal, EffectKind.REMEMBER, category_of(category).value, {"text": tag.body, **stated}, problem)


def read_state(tag: Tag, ordinal: int) -> Proposal:
    problem = tag.problem or (None if tag.body else _EMPTY)
    return Proposal(ordinal, EffectKind.STATE, tag.argument, {"text": tag.body}, problem)


_ATTRIBUTES = regex(r"<attributes>(.*?)</attributes>", re.ASCII | re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = regex(r"\s*<(?P<name>[A-Za-z_][\w.-]{0,63})>(?P<value>[^<]*)</(?P=name)>\s*", re.ASCII)
_PLAIN_TEXT = regex(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def attributes_of(tags: Sequence[Tag]) -> Mapping[str, str]:
    """Return the attributes of the first metadata block by name. Attributes without a value are left out. If the block
    is malformed, return no attributes."""
    block = next((tag.body for tag in tags if tag.name == METADATA), "")
    found = _ATTRIBUTES.search(block)
    return _read(_PLAIN_TEXT.sub(lambda data: html.escape(data[1]), found[1])) if found else {}


def _read(text: str) -> dict[str, str]:
    """Read a text that consists only of attributes. Return an empty mapping if it contains anything else."""
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


#: The order in which proposals are carried out: first the kinds in `_FIRST`, then all other kinds, and last the kinds
#: whose names end in a word of `_LATER`. So a cron can name an agent that the same reply creates.
_FIRST = (EffectKind.CREATE_AGENT, EffectKind.UPDATE_AGENT)
_LATER = ("CLIENT", "CRON", "HEARTBEAT", "DELEGATE", "REMEMBER", "STATE")


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed reply. `visible` is the text that people see: the text of the wrapper, or the whole text without tags if
    there is no wrapper."""

    visible: str
    proposals: tuple[Proposal, ...] = ()
    wrapper: Wrapper | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=2)
def read(text: str) -> Reply:
    """Parse the whole text of a reply. Do not use this for other texts: tags in the outputs of tools, in people's
    messages and in the history are not commands. The result is cached, because the end of a turn reads the reply
    again."""
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
