"""Facts that stay true when the step that learnt them does not count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class Lasting:
    """What holds whoever has the job: money that was spent outside. It is written even if the job was taken away, and may
    be written any number of times."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)
