"""Taint: what else than the asking person's own words a turn was written from (reliability.md §4.2).

A set of labels, because a union of sets never forgets where something came from; the empty set is clean. What is written
in a tainted turn (a reply, a summary, a fact) carries the turn's labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Label(StrEnum):
    """Where words came from that nobody vouches for: other people in the room, tools that look outside, files, other
    agents; or a message that looks like an attempt to command the model."""

    PEOPLE = "people"
    TOOLS = "tools"
    FILES = "files"
    AGENTS = "agents"
    FLAGGED = "flagged"


Taint = frozenset[Label]

CLEAN: Taint = frozenset()


def taint_text(taint: Taint) -> str:
    """As it is stored: the labels in order, with blanks between them."""
    return " ".join(sorted(taint))


def taint_of(text: str) -> Taint:
    """Read what `taint_text` wrote; a label that this version does not know taints as `tools` does."""
    known = {label.value: label for label in Label}
    return frozenset(known.get(word, Label.TOOLS) for word in text.split())


def taint_in(*states: Mapping[str, Any]) -> Taint:
    """Of executions with these states, together."""
    return frozenset(Label(label) for state in states for label in state.get("taint", ()))
