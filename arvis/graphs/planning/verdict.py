"""The critic's verdict about the work, and its consequences (behaviour.md 3)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from arvis.graphs.planning.triage import read_object

LONGEST_FEEDBACK = 2_000
#: In the place of a verdict that cannot be read.
UNREADABLE = "The check gave no readable verdict."
_UNSAID = "The check found the work incomplete and did not say why."
_NUMBER = re.compile(r"\s*(\d{1,3})\b")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`project` is only true beside `technical`; `feedback` explains what is incomplete; `completed` are the numbers
    of the finished steps."""

    technical: bool
    project: bool
    feedback: str
    completed: tuple[int, ...] = ()

    @property
    def complete(self) -> bool:
        return self.technical and self.project


def read_verdict(reply: str) -> Verdict:
    """No reply, or one that is no JSON object, is a verdict of "not complete"."""
    found = read_object(reply)
    if found is None:
        return Verdict(technical=False, project=False, feedback=UNREADABLE)
    technical = found.get("technical_completed") is True
    project = technical and found.get("project_complete") is True
    said = found.get("project_feedback" if technical else "technical_feedback")
    feedback = said.strip()[:LONGEST_FEEDBACK] if isinstance(said, str) else ""
    return Verdict(
        technical=technical,
        project=project,
        feedback="" if project else feedback or _UNSAID,
        completed=_numbers(found.get("completed_steps")),
    )


def said_before(feedback: str, earlier: Collection[str]) -> bool:
    """Return True if the same feedback was given before, apart from case, blanks and punctuation."""
    return plain(feedback) in {plain(each) for each in earlier}


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _numbers(given: Any) -> tuple[int, ...]:
    """Steps as numbers, or as texts that begin with one."""
    if not isinstance(given, list):
        return ()
    found = [_NUMBER.match(str(each)) for each in given if not isinstance(each, bool)]
    return tuple(dict.fromkeys(int(match[1]) for match in found if match))
