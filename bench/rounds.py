"""Alternate short rounds of control and measurement, so that other load on the machine affects both equally."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.places import Place

#: A function that makes one round and returns its result.
Round = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Scale:
    """The amount of work of a run."""

    #: The rounds of control and measurement.
    rounds: int
    #: The operations in each round.
    work: int
    #: The messages of each person in each round. There are few of them, so that conversations have a realistic length.
    messages: int
    #: The waiting or finished jobs in the rows about large queues.
    depth: int
    #: The lanes in the rows about order.
    lanes: int
    #: The numbers of worker processes of a cluster.
    processes: tuple[int, ...]
    #: The seconds for which an idle daemon is observed.
    idle_seconds: float


FULL = Scale(rounds=9, work=2_000, messages=25, depth=1_000_000, lanes=200, processes=(1, 2, 4), idle_seconds=60)
SHORT = Scale(rounds=3, work=300, messages=25, depth=50_000, lanes=200, processes=(1, 2), idle_seconds=5)
#: Only enough work to show that every row runs.
TINY = Scale(rounds=1, work=64, messages=2, depth=2_000, lanes=20, processes=(2,), idle_seconds=0.1)


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting of every row: an empty folder on the disk to measure, the storage of its databases, and the scale."""

    folder: Path
    place: Place
    scale: Scale


@dataclass(frozen=True, slots=True)
class Paired:
    """The results of the rounds, in order."""

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
        """Return the median of the ratios of all rounds, because a slow minute of the machine slows both halves of a
        round."""
        return median(value / control for value, control in zip(self.values, self.controls, strict=True))


async def in_turn(rounds: int, control: Round, measure: Round) -> Paired:
    """Run control and measurement alternately, `rounds` times. Before that, run each once without counting it."""
    await control()
    await measure()
    values, controls = [], []
    for _ in range(rounds):
        controls.append(await control())
        values.append(await measure())
    return Paired(tuple(values), tuple(controls))
