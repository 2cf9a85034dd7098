"""The results of a campaign, as a JSON document and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.calls import recoveries
from tests.crash.history import History
from tests.crash.oracle import judge
from tests.crash.outages import drains
from tests.crash.verdict import Kind, Violation


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one episode."""

    seed: str
    #: Lives that ended by a kill, and those of them that were not ready yet.
    kills: int
    kills_in_start: int
    #: Spans of SIGSTOP.
    sleeps: int
    #: Seconds from each SIGTERM to the end.
    drains: Sequence[float]
    messages: int
    answered: int
    repeated: int
    calls: int
    seconds: float
    #: Seconds from ready to the next call, for each interrupted call.
    recoveries: Sequence[float]
    violations: Sequence[Violation]
    #: The data folder of a failed episode, which is kept.
    evidence: str | None = None

    def document(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "kills": self.kills,
            "killsDuringStart": self.kills_in_start,
            "sleeps": self.sleeps,
            "drainSeconds": [round(each, 3) for each in self.drains],
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


def result_of(seed: str, history: History, seconds: float) -> Result:
    killed = [boot for boot in history.boots if boot.killed]
    return Result(
        seed=seed,
        kills=len(killed),
        kills_in_start=sum(boot.ready is None for boot in killed),
        sleeps=sum(len(boot.slept) for boot in history.boots),
        drains=drains(history),
        messages=sum(sent.acked is not None for sent in history.sent),
        answered=sum(timeline.status == "answered" for timeline in history.timelines.values()),
        repeated=sum(sent.tries > 1 for sent in history.sent),
        calls=len(history.calls),
        seconds=seconds,
        recoveries=tuple(recoveries(history).values()),
        violations=tuple(judge(history)),
    )


def totals(results: Sequence[Result]) -> dict[str, Any]:
    """Return the sums over all episodes, with one figure for each kind of violation."""
    kinds = Counter(violation.kind for result in results for violation in result.violations)
    kills = sum(result.kills for result in results)
    stops = sorted(each for result in results for each in result.drains)
    blows = kills + len(stops) + sum(result.sleeps for result in results)
    seconds = sum(result.seconds for result in results)
    return {
        "kills": kills,
        "killsDuringStart": sum(result.kills_in_start for result in results),
        "sleeps": sum(result.sleeps for result in results),
        "stops": len(stops),
        **{f"stopSecondsP{share}": round(_percentile(stops, share), 2) for share in (50, 99)},
        "messages": sum(result.messages for result in results),
        "answered": sum(result.answered for result in results),
        **{kind.value: kinds[kind] for kind in Kind},
        "interruptedCalls": sum(len(result.recoveries) for result in results),
        "worstRecoverySeconds": round(max((each for result in results for each in result.recoveries), default=0.0), 3),
        "secondsPerBlow": round(seconds / blows, 2) if blows else 0.0,
    }


def _percentile(ordered: Sequence[float], share: int) -> float:
    """Return the percentile by the nearest rank; 0 for an empty list."""
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0.0


def table(figures: Mapping[str, Any]) -> str:
    width = max(len(name) for name in figures)
    return "\n".join(f"{name:<{width}}  {value:>8}" for name, value in figures.items())


def explain(results: Sequence[Result], most: int = 20) -> str:
    """Return the first violations as text."""
    lines = [
        f"seed {result.seed}: {violation.rule.replace('_', ' ')} [{violation.kind}]: {violation.detail}"
        for result in results
        for violation in result.violations
    ]
    return "\n".join(lines[:most] + ([f"and {len(lines) - most} more"] if len(lines) > most else []))
