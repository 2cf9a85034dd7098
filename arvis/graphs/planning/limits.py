"""The limits of one planning run (behaviour.md 3, "ours"): with the constants of the original it could run for hours."""

from __future__ import annotations

from dataclasses import dataclass

TIME, ROUNDS, FEEDBACK, TRIES, FAILED = "time", "rounds", "same_feedback", "tries", "failed"

#: The reasons of a stop, for the report.
REASONS = {
    TIME: "the time for one run is used up",
    ROUNDS: "the work is still not complete after the last permitted check",
    FEEDBACK: "two checks found the same part missing, so more attempts would not help",
    TRIES: "no attempt produced a usable plan or brief",
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

    def over(self, began: int | None, now: int, waited_ms: int) -> bool:
        """Return whether the time of a run is used up; all times in ms."""
        return now - (now if began is None else began) - waited_ms > self.minutes * 60_000
