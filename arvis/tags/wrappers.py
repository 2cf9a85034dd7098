"""The wrappers with which an agent reports its status: done, blocked, or continuing (behaviour 2.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.markup import Tag, visible
from arvis.domain.markup_grammar import BLOCKED, CONTINUE, DONE, EXECUTOR_BLOCKED, EXECUTOR_DONE


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
            return _read(status, body, prose)
    return None


def _read(status: Status, body: str, prose: str) -> Wrapper:
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
