"""`[HANDOVER:slug] words [/HANDOVER]`: the talk goes on with another agent (behaviour 5.7). It says the same as the attribute
`destinationAgent` of a reply; the words are part of what is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arvis.domain.markup import Tag, visible
from arvis.domain.markup_grammar import HANDOVER

#: The attribute that names whom the talk goes to.
DESTINATION = "destinationAgent"


@dataclass(frozen=True, slots=True)
class Handover:
    to: str
    text: str


def handover_of(tags: Sequence[Tag]) -> Handover | None:
    """The first one that can be read."""
    found = next((tag for tag in tags if tag.name == HANDOVER and tag.problem is None), None)
    return Handover(found.argument.lower(), visible(found.body)) if found is not None else None
