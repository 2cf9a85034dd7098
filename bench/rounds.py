"""Short rounds of control and measure in turn, so that what else runs on the machine meets both alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.places import Place

#: One round: does its work and says what it measured.
Round = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much work a run does: `rounds` of control and measure, `work` operations in each (or so many `messages` of each
    person, which makes conversations of the length that people have), `depth` jobs that wait or
    are kept in the rows about large queues, `lanes` in those about order, how many worker `processes` a cluster has, and
    how long (seconds) an idle daemon is watched."""

    rounds: int
    work: int
    messages: int
    depth: int
    lanes: int
    processes: tuple[int, ...]
    idle_seconds: float


FULL = Scale(rounds=9, work=2_000, messages=25, depth=1_000_000, lanes=200, processes=(1, 2, 4), idle_seconds=60)
SHORT = Scale(rounds=3, work=300, messages=25, depth=50_000, lanes=200, processes=(1, 2), idle_seconds=5)
#: Says nothing but that it runs.
TINY = Scale(rounds=1, work=64, messages=2, depth=2_000, lanes=20, processes=(2,), idle_seconds=0.1)


@dataclass(frozen=True, slots=True)
class Setting:
    """What every row is given: an empty folder on the disk to measure, where its databases are, and the scale."""

    folder: Path
    place: Place
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
