"""Facts that stay true when the step that learnt them does not count, and those that are only true when it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class DurableWrite:
    """A fact that stays true even if another process has the job now, such as money that a call has cost. It is
    written even if the job was taken away, and may be written several times."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)


@dataclass(frozen=True, slots=True)
class StepWrite:
    """A fact about the step itself. It is not written when the node returned no decision, because the node is then
    visited again, or never."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)
