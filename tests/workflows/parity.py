"""Compares the judgement of the editor with that of Python for the same documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.workflows.validation.rules import RULES
from tests.workflows.preflight import Names, Preflight, difference, in_python, is_error

#: The known names for every second document.
NAMES: Names = {
    "agents": ["helper", "text"],
    "searching": ["text"],
    "tools": ["look", "a", "web_search"],
    "servers": ["notes"],
    "models": ["openai/served", "anthropic/*"],
    "workflows": ["another"],
    "begun": ["schedule"],
}


@dataclass(slots=True)
class Tally:
    """The results of a comparison."""

    documents: int = 0
    runnable: int = 0
    #: The differences, each with the number of its document.
    different: list[str] = field(default_factory=list)
    #: Rule -> number of documents that break it.
    rules: Counter[str] = field(default_factory=Counter)

    @property
    def unseen(self) -> set[str]:
        """Return the rules that no document broke."""
        return set(RULES) - set(self.rules)

    def __str__(self) -> str:
        share = self.runnable / max(self.documents, 1)
        rules = f"{len(RULES) - len(self.unseen)} of {len(RULES)} rules broken"
        return f"{self.documents} documents, {share:.0%} runnable, {rules}, {len(self.different)} judged differently"


def compare(preflight: Preflight, documents: Sequence[tuple[int, Any]]) -> Tally:
    """Judge every document on both sides; every second one with known names."""
    tally = Tally()
    for names in ({}, NAMES):
        some = [(number, document) for number, document in documents if bool(number % 2) == bool(names)]
        theirs = preflight.judge([document for _, document in some], names)
        for (number, document), judged in zip(some, theirs, strict=True):
            _count(tally, number, document, judged, names)
    return tally


def _count(tally: Tally, number: int, document: Any, theirs: Any, names: Names) -> None:
    ours = in_python(document, names)
    tally.documents += 1
    tally.runnable += not any(is_error(problem) for problem in ours.problems)
    tally.rules.update({problem["rule"] for problem in ours.problems})
    if differing := difference(ours, theirs):
        tally.different.append(f"document {number}: {differing}")
