"""The judgement of generated documents: their canonical form and their problems, the differences between two judgements,
and the rules that many documents break."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arvis.workflows.document.model import normalise
from arvis.workflows.validation.check import KnownNames, check
from arvis.workflows.validation.rules import RULES

#: Kind of names, such as `agents` or `tools` -> the names that exist.
Names = Mapping[str, list[str]]
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


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement, as JSON."""

    document: Any
    problems: list[dict[str, Any]]

    @property
    def runnable(self) -> bool:
        return all(problem["severity"] != "error" for problem in self.problems)


def judged(document: Any, names: Names | None = None) -> Judged:
    """Judge the document in this process."""
    normal = normalise(document)
    problems = check(normal, KnownNames(**(names or {})))
    return Judged(_as_json(normal), _as_json([problem.to_json() for problem in problems]))


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@dataclass(slots=True)
class Tally:
    """The judgements of many documents."""

    documents: int = 0
    runnable: int = 0
    #: Rule -> number of documents that break it.
    rules: Counter[str] = field(default_factory=Counter)

    @property
    def unseen(self) -> set[str]:
        """Return the rules that no document broke."""
        return set(RULES) - set(self.rules)

    def __str__(self) -> str:
        share = self.runnable / max(self.documents, 1)
        return f"{self.documents} documents, {share:.0%} runnable, {len(self.rules)} of {len(RULES)} rules broken"


def tally_of(documents: Iterable[tuple[int, Any]]) -> Tally:
    """Judge every document; every second one with known names."""
    tally = Tally()
    for number, document in documents:
        found = judged(document, NAMES if number % 2 else {})
        tally.documents += 1
        tally.runnable += found.runnable
        tally.rules.update({problem["rule"] for problem in found.problems})
    return tally


def difference(ours: Judged, theirs: Judged) -> str | None:
    """Return the difference between two judgements, or None if they are equal."""
    if ours.document != theirs.document:
        return f"normalised: {_first(ours.document, theirs.document)}"
    if ours.problems != theirs.problems:
        return f"problems: {_first(ours.problems, theirs.problems)}"
    return None


def _first(ours: Any, theirs: Any, path: str = "") -> str:
    """Return the first difference between two values, with its path."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return next(_first(ours[name], theirs[name], f"{path}.{name}") for name in ours if ours[name] != theirs[name])
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(_first(one, other, f"{path}.{at}") for at, (one, other) in pairs if one != other)
    return f"at {path or 'the top'}: here {str(ours)[:600]!r}, there {str(theirs)[:600]!r}"
