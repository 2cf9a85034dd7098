"""Taint: the sources of a text other than the text of the person who asked.

A taint is a set of labels. The empty set means that there are no other sources. If texts are combined, the taint of the
result is the union of their taints, so no source is lost. Every text that is written in a turn (a reply, a summary, a
fact) gets the taint of the turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Label(StrEnum):
    """The kinds of sources of untrusted text."""

    #: People other than the person who asked.
    PEOPLE = "people"
    #: Tools whose output comes from outside of Arvis.
    TOOLS = "tools"
    FILES = "files"
    #: Other agents.
    AGENTS = "agents"
    #: A message that looks like an attempt to command the model.
    FLAGGED = "flagged"


Taint = frozenset[Label]

CLEAN: Taint = frozenset()


def taint_text(taint: Taint) -> str:
    """Return the stored form of a taint: its labels in alphabetical order, separated by blanks."""
    return " ".join(sorted(taint))


def taint_of(text: str) -> Taint:
    """Return the taint from its stored form; an unknown label counts as `tools`."""
    known = {label.value: label for label in Label}
    return frozenset(known.get(word, Label.TOOLS) for word in text.split())


def taint_in(*states: Mapping[str, Any]) -> Taint:
    """Return the union of the taints of executions with these states."""
    return frozenset(Label(label) for state in states for label in state.get("taint", ()))
