"""Short rounds of control and measure in turn, so that what else runs on the machine meets both alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

#: One round: does its work and says what it measured.
Round = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much work a run does: `rounds` of control and measure, `work` operations in each, `depth` jobs that wait or
    are kept in the rows about large queues, and how long (seconds) an idle daemon is watched."""

    rounds: int
    work: int
    depth: int
    idle_seconds: float


FULL = Scale(rounds=9, work=2_000, depth=1_000_000, idle_seconds=60)
SHORT = Scale(rounds=3, work=300, depth=50_000, idle_seconds=5)


@dataclass(frozen=True, slots=True)
class Setting:
    """What every row is given: an empty folder on the disk to measure, and the scale."""

    folder: Path
    scale: Scale


@dataclass(frozen=True, slots=True)
class Paired:
    """What the rounds measured, in order."""

    values: tuple[float, ...]
    controls: tuple[float, ...]

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def control(self) -> float:
        return median(self.controls)

    @property
    def ratio(self) -> float:
        """The median of the rounds' own ratios: a slow minute of the machine slows both halves of a round."""
        return median(value / control for value, control in zip(self.values, self.controls, strict=True))


async def in_turn(rounds: int, control: Round, measure: Round) -> Paired:
    """A B A B …, after a round of each that does not count."""
    await control()
    await measure()
    values, controls = [], []
    for _ in range(rounds):
        controls.append(await control())
        values.append(await measure())
    return Paired(tuple(values), tuple(controls))
