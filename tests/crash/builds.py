"""Deliberately broken builds: the negative controls of the harness.

A variant is a list of exact replacements in a copy of the program; the product itself has no switch for it. A
replacement that no longer fits is an error. Otherwise the control would become a test of the correct program.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.daemon import CHECKOUT
from tests.crash.tool_work import install

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
