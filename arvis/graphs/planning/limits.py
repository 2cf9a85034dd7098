"""What one planning run may take in all (behaviour.md 3, "ours"): with the constants of the original it could go on for hours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TIME, ROUNDS, FEEDBACK, TRIES, FAILED = "time", "rounds", "same_feedback", "tries", "failed"

#: What the report is told of why the run was stopped.
REASONS = {
    TIME: "the time for one run is used up",
    ROUNDS: "the work was checked as often as it may be, and is still not complete",
    FEEDBACK: "two checks found the same thing missing, so going on would not help",
    TRIES: "no usable plan or brief came of all tries",
    FAILED: "the work itself failed twice",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """`retrievals`, `plans` and `briefs` are tries in a row, `actions` runs of the executor between two checks, `rounds`
    checks in all. `minutes` of work in all; what people take to answer does not count."""

    retrievals: int = 15
    plans: int = 15
    briefs: int = 15
    actions: int = 20
    rounds: int = 5
    minutes: int = 30

    def over(self, state: Mapping[str, Any], now: int, waited_ms: int) -> bool:
        """Whether the time is up; `now` in ms."""
        began: int = state.get("began", now)
        return now - began - waited_ms > self.minutes * 60_000


def tried(state: Mapping[str, Any], node: str) -> int:
    """How often in a row this node gave nothing usable."""
    number: int = state.get("tries", {}).get(node, 0)
    return number


def tries(state: Mapping[str, Any], node: str, number: int) -> dict[str, Any]:
    """The change of state that says so."""
    return {"tries": {**state.get("tries", {}), node: number}}
