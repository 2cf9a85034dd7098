"""Proposals as they can be kept: a model may write JSON that no database takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from arvis.domain.effects import Proposal
from arvis.domain.text import storable, storable_json

#: No field of any tag holds lists or objects deeper than this.
DEEPEST = 12


def sound(proposal: Proposal) -> Proposal:
    """The same without characters that cannot be stored; where values cannot be, there is a problem in their place."""
    flaw = _flaw(proposal.fields.values(), DEEPEST)
    problem = proposal.problem or flaw
    return replace(
        proposal,
        subject=storable(proposal.subject),
        fields={} if flaw else storable_json(dict(proposal.fields)),
        problem=storable(problem) if problem else None,
    )


def _flaw(values: Iterable[Any], depth: int) -> str | None:
    if depth == 0:
        return "a value in it is nested too deep"
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            return "a number in it is too large"
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if inner and (flaw := _flaw(inner, depth - 1)):
            return flaw
    return None
