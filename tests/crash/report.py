"""What a campaign found, as one JSON document and one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.calls import recoveries
from tests.crash.history import History
from tests.crash.oracle import judge
from tests.crash.verdict import Kind, Violation


@dataclass(frozen=True, slots=True)
class Result:
    """One episode in figures. `kills` counts the lives that ended by a kill, `kills_in_start` those of them that
    had not become ready; `recoveries` are seconds from ready; `evidence` is the kept data folder of a failure."""

    seed: str
    kills: int
    kills_in_start: int
    messages: int
    answered: int
    repeated: int
    calls: int
    seconds: float
    recoveries: Sequence[float]
    violations: Sequence[Violation]
    evidence: str | None = None

    def document(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "kills": self.kills,
            "killsDuringStart": self.kills_in_start,
            "messages": self.messages,
            "answered": self.answered,
            "repeatedSends": self.repeated,
            "modelCalls": self.calls,
            "seconds": round(self.seconds, 2),
            "interruptedCalls": len(self.recoveries),
            "worstRecoverySeconds": round(max(self.recoveries, default=0.0), 3),
            "violations": [
                {"rule": each.rule, "kind": each.kind.value, "detail": each.detail} for each in self.violations
            ],
            "evidence": self.evidence,
        }


def result_of(seed: str, kills: int, history: History, seconds: float) -> Result:
    killed = history.boots[:kills]
    return Result(
        seed=seed,
        kills=len(killed),
        kills_in_start=sum(boot.ready is None for boot in killed),
        messages=sum(sent.acked is not None for sent in history.sent),
        answered=sum(timeline.status == "answered" for timeline in history.timelines.values()),
        repeated=sum(sent.tries > 1 for sent in history.sent),
        calls=len(history.calls),
        seconds=seconds,
        recoveries=tuple(recoveries(history).values()),
        violations=tuple(judge(history)),
    )


def totals(results: Sequence[Result]) -> dict[str, Any]:
    """The sums over all episodes, with one figure for each kind of violation."""
    kinds = Counter(violation.kind for result in results for violation in result.violations)
    kills = sum(result.kills for result in results)
    seconds = sum(result.seconds for result in results)
    return {
        "kills": kills,
        "killsDuringStart": sum(result.kills_in_start for result in results),
        "messages": sum(result.messages for result in results),
        "answered": sum(result.answered for result in results),
        **{kind.value: kinds[kind] for kind in Kind},
        "interruptedCalls": sum(len(result.recoveries) for result in results),
        "worstRecoverySeconds": round(max((each for result in results for each in result.recoveries), default=0.0), 3),
        "secondsPerKill": round(seconds / kills, 2) if kills else 0.0,
    }


def table(figures: Mapping[str, Any]) -> str:
    width = max(len(name) for name in figures)
    return "\n".join(f"{name:<{width}}  {value:>8}" for name, value in figures.items())


def explain(results: Sequence[Result], most: int = 20) -> str:
    """The first violations in words."""
    lines = [
        f"seed {result.seed}: {violation.rule.replace('_', ' ')} [{violation.kind}]: {violation.detail}"
        for result in results
        for violation in result.violations
    ]
    return "\n".join(lines[:most] + ([f"and {len(lines) - most} more"] if len(lines) > most else []))
