"""The types of a judgement: the kinds of violations, which are the columns of the report, and the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tests.crash.history import History


class Kind(StrEnum):
    """The columns of the report."""

    LOST = "lost"
    STORED_TWICE = "stored twice"
    OUT_OF_ORDER = "out of order"
    SHOWN_TWICE = "shown twice"
    MISSING = "missing"
    LATE = "late recovery"
    UNREAD = "unread"
    UNBOOKED = "not booked"
    HALF = "half a reply"
    TOO_SOON = "sent too soon"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    kind: Kind
    detail: str


Found = Iterator[tuple[Kind, str]]
Rule = Callable[[History], Found]
