"""Taint: the sources of a turn other than the text of the person who asked (reliability.md §4.2).

It is a set of labels, because a union of sets never loses a source; the empty set is clean. Everything that is
written in a tainted turn (a reply, a summary, a fact) gets the turn's labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Label(StrEnum):
    """Sources of untrusted text: other people in the room, tools that read from outside, files, other agents; or a
    message that looks like an attempt to command the model."""

    PEOPLE = "people"
    TOOLS = "tools"
    FILES = "files"
    AGENTS = "agents"
    FLAGGED = "flagged"


Taint = frozenset[Label]

CLEAN: Taint = frozenset()


def taint_text(taint: Taint) -> str:
    """Return the stored form: the labels in order, separated by blanks."""
    return " ".join(sorted(taint))


def taint_of(text: str) -> Taint:
    """Parse the result of `taint_text`; an unknown label counts as `tools`."""
    known = {label.value: label for label in Label}
    return frozenset(known.get(word, Label.TOOLS) for word in text.split())


def taint_in(*states: Mapping[str, Any]) -> Taint:
    """Return the union of the taints of executions with these states."""
    return frozenset(Label(label) for state in states for label in state.get("taint", ()))
