"""Defines checks and their findings. A check reads the `Scene` and changes nothing. A finding has a reason and a
fix."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from arvis.cli.doctor.scene import Scene
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError


class Status(StrEnum):
    """The status of a finding. `fail` means that something does not work, or that accepted data can be lost. Only this
    status makes the command fail."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one check."""

    status: Status
    what: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """The id of a check, and the function that makes the check."""

    #: The id never changes, because programs use it.
    id: str
    #: Returns the result of the check. Returns None if the feature is not in use, or if an earlier check reports why
    #: this check is impossible.
    look: Callable[[Scene], Verdict | None]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its check, for printing."""

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
