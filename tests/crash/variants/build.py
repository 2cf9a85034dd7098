"""Deliberately broken builds: the negative controls of the harness.

A variant is a list of exact replacements in a copy of the program; the product itself has no switch for it. A
replacement that no longer fits is an error. Otherwise the control would become a test of the correct program.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.chat_episode import ChatPlan
from tests.crash.cluster import Shape
from tests.crash.daemon import CHECKOUT
from tests.crash.oracle import every_message_is_accepted
from tests.crash.report import Result
from tests.crash.tool_work import install
from tests.crash.verdict import Rule

PARTS = ("arvis", "connectors", "migrations")
NOT_COPIED = shutil.ignore_patterns("node_modules", "ui")


class DoesNotApply(Exception):
    """The program has changed and an edit does not fit. Rewrite the variant so that it breaks the same promise
    again."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `old`, which must occur in `path` exactly once, by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Variant:
    """A broken build and the episode that finds its fault."""

    name: str
    #: The promise that the build breaks.
    breaks: str
    edits: Sequence[Edit]
    #: The rules of the oracle that must find the fault.
    caught_by: Sequence[Rule[Any]]
    #: The settings of the episode; its disturbances are enough to find the fault.
    plan: ChatPlan
    #: The rules over the database that must find the fault.
    rows: Sequence[str] = ()

    @property
    def needs_server(self) -> bool:
        return self.plan.shape != Shape()

    def is_caught(self, result: Result) -> bool:
        """Return whether the rules found the fault. A build that does not run proves nothing, although it breaks
        rules."""
        broken_rules = {violation.rule for violation in result.violations}
        ran = (
            result.kills + result.suspensions >= self.plan.disturbances
            and result.messages > 0
            and every_message_is_accepted.__name__ not in broken_rules
        )
        found = broken_rules >= {rule.__name__ for rule in self.caught_by}
        return ran and found and all(self._row_is_found(rule, result) for rule in self.rows)

    def _row_is_found(self, rule: str, result: Result) -> bool:
        return any(violation.detail.startswith(f"{rule}: ") for violation in result.violations)


@contextmanager
def copied(*edits: Edit, checkout: Path = CHECKOUT) -> Iterator[Path]:
    """Yield a copy of the program with these edits as an import folder, so that changes of the checkout do not affect a
    running campaign."""
    with tempfile.TemporaryDirectory(prefix="arvis-code-") as name:
        code = Path(name)
        for part in PARTS:
            shutil.copytree(checkout / part, code / part, ignore=NOT_COPIED)
        install(code)
        for edit in edits:
            apply(edit, code)
        yield code


def apply(edit: Edit, code: Path) -> None:
    path = code / edit.path
    if not path.is_file():
        raise DoesNotApply(f"{edit.path} does not exist any more")
    text = path.read_text()
    if text.count(edit.old) != 1:
        raise DoesNotApply(f"{edit.path} holds this {text.count(edit.old)} times, not once:\n{edit.old}")
    path.write_text(text.replace(edit.old, edit.new))
