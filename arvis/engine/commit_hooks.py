"""Facts that stay true when the step that learnt them does not count, and those that are only true when it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class DurableWrite:
    """What holds whoever has the job: money that was spent outside. It is written even if the job was taken away, and may
    be written any number of times."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)


@dataclass(frozen=True, slots=True)
class StepWrite:
    """What the step itself is told of with: it is not written when the node gave no decision, for then it is visited again, or never."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)
