"""Deliberately broken builds: the negative controls of the harness (reliability.md §6.4).

A variant is a list of exact replacements in a copy of the program, never a switch in the product. A replacement
that no longer fits is an error, so that a control cannot quietly become a test of the healthy program.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.blows import Aim, Blow
from tests.crash.campaign import Campaign
from tests.crash.cluster import Shape
from tests.crash.oracle import every_message_is_accepted
from tests.crash.report import Result
from tests.crash.verdict import Rule
from tests.crash.work import install

PARTS = ("arvis", "connectors", "migrations")
NOT_COPIED = shutil.ignore_patterns("node_modules", "ui")


class DoesNotApply(Exception):
    """The program changed under a variant: rewrite the variant so that it breaks the same promise again."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old`, which stands in `path` exactly once, by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Variant:
    """`breaks` says which promise, `caught_by` the rules of the oracle that must notice, `rows` those over the
    database; so many `blows` of this kind, aimed like this, are enough to find it, with a drain of `patience`
    seconds. The rest as in `Plan`."""

    name: str
    breaks: str
    edits: Sequence[Edit]
    caught_by: Sequence[Rule]
    blows: int
    aim: Aim
    patience: float
    rows: Sequence[str] = ()
    blow: Blow = Blow.KILL
    shape: Shape = Shape()  # noqa: RUF009 frozen
    lease: float | None = None
    aimed_after: float = 0.0
    rate: float = 1.0
    working: int = 0

    @property
    def needs_server(self) -> bool:
        return self.shape != Shape()

    def campaign(self, code: Path, *, database: str | None, random: bool = False) -> Campaign:
        """Its blows, aimed or not, on the broken `code`."""
        return Campaign(
            code=code,
            blow=self.blow,
            aim=Aim.RANDOM if random else self.aim,
            shape=self.shape,
            aimed_after=self.aimed_after,
            rate=self.rate,
            working=self.working,
            patience=self.patience,
            lease=self.lease,
            database=database,
        )

    def is_caught(self, result: Result) -> bool:
        """Return whether the rules noticed. A build that does not run breaks rules as well, and proves nothing."""
        broken_rules = {violation.rule for violation in result.violations}
        ran = (
            result.kills + result.sleeps >= self.blows
            and result.messages > 0
            and every_message_is_accepted.__name__ not in broken_rules
        )
        found = broken_rules >= {rule.__name__ for rule in self.caught_by}
        return ran and found and all(self._row_is_found(rule, result) for rule in self.rows)

    def _row_is_found(self, rule: str, result: Result) -> bool:
        return any(violation.detail.startswith(f"{rule}: ") for violation in result.violations)


@contextmanager
def copied(checkout: Path) -> Iterator[Path]:
    """A copy of the program as a folder to import from: who edits the checkout does not edit a running campaign."""
    with tempfile.TemporaryDirectory(prefix="arvis-code-") as name:
        code = Path(name)
        for part in PARTS:
            shutil.copytree(checkout / part, code / part, ignore=NOT_COPIED)
        install(code)
        yield code


@contextmanager
def edited(edits: Sequence[Edit], checkout: Path) -> Iterator[Path]:
    """A copy with these edits."""
    with copied(checkout) as code:
        for edit in edits:
            apply(edit, code)
        yield code


def apply(edit: Edit, code: Path) -> None:
    path = code / edit.path
    if not path.is_file():
        raise DoesNotApply(f"{edit.path} is not there any more")
    text = path.read_text()
    if text.count(edit.old) != 1:
        raise DoesNotApply(f"{edit.path} holds this {text.count(edit.old)} times, not once:\n{edit.old}")
    path.write_text(text.replace(edit.old, edit.new))
