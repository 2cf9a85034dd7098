"""The judgement of a history: kinds of violations, which are the columns of the report, and the rules of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar


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
    INCOMPLETE = "incomplete reply"
    TOO_SOON = "sent too soon"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    kind: Kind
    detail: str


Found = Iterator[tuple[Kind, str]]


class History(Protocol):
    """The part of a history that every kind of episode has."""

    @property
    def problems(self) -> Sequence[str]:
        """Return the refusals and failures that no user should meet."""
        ...

    @property
    def rows(self) -> Mapping[str, Sequence[str]]:
        """Return the offending rows of the stopped daemon's database, by rule."""
        ...


H = TypeVar("H")
#: A rule gets a history and yields its violations.
Rule = Callable[[H], Found]


def judge(rules: Iterable[Rule[H]], history: H) -> tuple[Violation, ...]:
    """Return all violations in this history."""
    return tuple(Violation(rule.__name__, kind, detail) for rule in rules for kind, detail in rule(history))


def no_user_met_a_problem(history: History) -> Found:
    for problem in history.problems:
        yield Kind.OTHER, problem


def the_rows_agree(history: History) -> Found:
    for rule, rows in history.rows.items():
        for row in rows:
            yield Kind.OTHER, f"{rule}: {row}"


COMMON_RULES: tuple[Rule[History], ...] = (no_user_met_a_problem, the_rows_agree)
