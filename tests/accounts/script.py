"""What the accounts of a drill do at which time, and when a turn could have been answered at the earliest."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

#: Seconds that a healthy account takes for an answer.
LATENCY = 0.5


class State(StrEnum):
    HEALTHY = "healthy"
    LIMITED = "limited"
    HANGING = "hanging"
    FAILING = "failing"
    BAD_KEY = "bad key"


@dataclass(frozen=True, slots=True)
class Phase:
    """What an account does from `begins` on until the next phase, in seconds of the drill."""

    begins: float
    state: State


class Script:
    """The phases of each account by its name; the last ones last for ever and are healthy."""

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
        """When the phase of this moment is over."""
        place = self._place(account, at) + 1
        return self._phases[account][place].begins if place < len(self._phases[account]) else float("inf")

    def answerable(self, at: float) -> float:
        """The first moment from `at` on at which some account is healthy."""
        return min(self._healthy_from(account, at) for account in self._phases)

    def _healthy_from(self, account: str, at: float) -> float:
        while self.state(account, at) is not State.HEALTHY:
            at = self.ends(account, at)
        return at

    def _place(self, account: str, at: float) -> int:
        return max(0, bisect_right(self._begins[account], at) - 1)


def write_script(accounts: Sequence[str], seconds: float, chance: random.Random) -> Script:
    """Health and faults in turns, for so many seconds: a minute of health on average, then one fault of up to a minute.
    The key of the last account is always good: what no account can answer until a person acts is told at once."""
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
