"""What a check is and what it finds. A check looks at the scene and changes nothing; what it says has a reason and a
fix, so that nobody must search for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from arvis.cli.doctor.scene import Scene
from arvis.domain.errors import ArvisError


class Status(StrEnum):
    """Only `fail` makes the command fail: something does not work, or can lose what was promised."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says."""

    status: Status
    what: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """`id` is stable, for programs. `look` returns None where there is nothing to check, be it that the thing is not in
    use or that an earlier check has told why it cannot be looked at."""

    id: str
    look: Callable[[Scene], Verdict | None]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its place, as it is printed."""

    id: str
    group: str
    status: Status
    what: str
    why: str = ""
    fix: str = ""

    @classmethod
    def of(cls, check_id: str, group: str, verdict: Verdict) -> Finding:
        return cls(check_id, group, verdict.status, verdict.what, verdict.why, verdict.fix)


def ok(what: str, why: str = "") -> Verdict:
    return Verdict(Status.OK, what, why)


def warn(what: str, why: str, fix: str) -> Verdict:
    return Verdict(Status.WARN, what, why, fix)


def fail(what: str, why: str, fix: str) -> Verdict:
    return Verdict(Status.FAIL, what, why, fix)


def failed(error: ArvisError) -> Verdict:
    return fail(error.what, error.why, error.fix)
