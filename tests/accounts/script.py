"""The states of a drill's accounts over time, and the earliest time at which a turn could have been answered."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

#: Seconds that a healthy account needs for an answer.
LATENCY = 0.5


class State(StrEnum):
    HEALTHY = "healthy"
    LIMITED = "limited"
    HANGING = "hanging"
    FAILING = "failing"
    BAD_KEY = "bad key"


@dataclass(frozen=True, slots=True)
class Phase:
    """A state of an account from `begins` (in seconds of the drill) until the next phase."""

    begins: float
    state: State


class Script:
    """The phases of each account by its name. The last phase has no end and is healthy."""

    def __init__(self, phases: Mapping[str, Sequence[Phase]]) -> None:
        self._phases = {name: list(each) for name, each in phases.items()}
        self._begins = {name: [phase.begins for phase in each] for name, each in phases.items()}

    @property
    def accounts(self) -> list[str]:
        return list(self._phases)

    def phases_of(self, account: str) -> Sequence[Phase]:
        return self._phases[account]

    def state(self, account: str, at: float) -> State:
        return self._phases[account][self._place(account, at)].state

    def ends(self, account: str, at: float) -> float:
        """Return the time at which the current phase ends."""
        place = self._place(account, at) + 1
        return self._phases[account][place].begins if place < len(self._phases[account]) else float("inf")

    def answerable(self, at: float) -> float:
        """Return the first time from `at` on at which an account is healthy."""
        return min(self._healthy_from(account, at) for account in self._phases)

    def _healthy_from(self, account: str, at: float) -> float:
        while self.state(account, at) is not State.HEALTHY:
            at = self.ends(account, at)
        return at

    def _place(self, account: str, at: float) -> int:
        return max(0, bisect_right(self._begins[account], at) - 1)


def write_script(accounts: Sequence[str], seconds: float, chance: random.Random) -> Script:
    """Write alternating phases of health (one minute on average) and of a fault (up to one minute) for this number of
    seconds.

    The last account never has a bad key. If all keys were bad, turns would fail at once, because only a person can
    repair a key.
    """
    faults = [State.LIMITED, State.LIMITED, State.HANGING, State.FAILING]
    found: dict[str, list[Phase]] = {}
    for name in accounts:
        at, phases = 0.0, [Phase(0.0, State.HEALTHY)]
        while at < seconds:
            at += chance.expovariate(1 / 60)
            phases.append(Phase(at, chance.choice(faults if name == accounts[-1] else [*faults, State.BAD_KEY])))
            at += chance.uniform(2, 60)
            phases.append(Phase(at, State.HEALTHY))
        found[name] = phases
    return Script(found)
