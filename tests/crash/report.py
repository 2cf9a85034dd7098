"""The results of episodes and campaigns, as a table and as a JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.crash.calls import recoveries
from tests.crash.history import History
from tests.crash.oracle import RULES, drains
from tests.crash.verdict import Kind, Violation, judge

#: Number of violations that are printed.
MOST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """The result of one episode of any campaign."""

    seed: str
    seconds: float
    #: Boots that ended by a kill.
    kills: int = 0
    violations: Sequence[Violation]
    #: The data folder of a failed episode, which is kept.
    evidence: str | None = None

    @property
    def figures(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        violations = [{"rule": each.rule, "kind": each.kind.value, "detail": each.detail} for each in self.violations]
        return {"seed": self.seed, **self.figures, "violations": violations, "evidence": self.evidence}

    def __str__(self) -> str:
        """Return a line of progress."""
        figures = ", ".join(
            f"{value} {name}" for name, value in self.figures.items() if value and isinstance(value, int)
        )
        verdict = f"{len(self.violations)} violations, kept in {self.evidence}" if self.violations else "clean"
        return f"seed {self.seed}: {figures}, {self.seconds:.0f} s: {verdict}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The figures of an episode with chats."""

    #: Boots that were killed before they were ready.
    kills_in_start: int
    #: Spans between SIGSTOP and SIGCONT.
    suspensions: int
    #: Seconds from each SIGTERM to the end.
    drains: Sequence[float]
    messages: int
    answered: int
    repeated: int
    #: Correct refusals.
    refusals: int
    calls: int
    #: Seconds from ready to the next call, for each interrupted call.
    recoveries: Sequence[float]

    @property
    def figures(self) -> Mapping[str, Any]:
        return {
            "kills": self.kills,
            "killsDuringStart": self.kills_in_start,
            "suspensions": self.suspensions,
            "stops": len(self.drains),
            "drainSeconds": [round(each, 3) for each in self.drains],
            "messages": self.messages,
            "answered": self.answered,
            "repeatedSends": self.repeated,
            "refusals": self.refusals,
            "modelCalls": self.calls,
            "seconds": round(self.seconds, 2),
            "interruptedCalls": len(self.recoveries),
            "worstRecoverySeconds": round(max(self.recoveries, default=0.0), 3),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a campaign: printed figures and complaints, and further parts of the JSON document."""

    figures: Mapping[str, Any]
    complaints: Sequence[str]
    further: Mapping[str, Any] = field(default_factory=dict)
    failed: bool = False


def report_of(
    figures: Mapping[str, Any], results: Sequence[EpisodeResult], *, failed: bool | None = None, **further: Any
) -> Report:
    """Return the report of these episodes. Without `failed`, it fails if there is a violation."""
    found = [(result, violation) for result in results for violation in result.violations]
    lines = [f"seed {result.seed}: {_text(violation)}" for result, violation in found]
    document = further | {"episodes": [result.document() for result in results]}
    return Report(figures, lines, document, bool(found) if failed is None else failed)


def by_kind(results: Sequence[EpisodeResult]) -> Mapping[str, int]:
    """Return the number of violations of each kind."""
    kinds = Counter(violation.kind for result in results for violation in result.violations)
    return {kind.value: kinds[kind] for kind in Kind}


def shown(complaints: Sequence[str]) -> str:
    """Return the first complaints as text."""
    more = [f"and {len(complaints) - MOST} more"] if len(complaints) > MOST else []
    return "\n".join([*complaints[:MOST], *more])


def explain(result: EpisodeResult) -> str:
    """Return the violations of an episode as text."""
    return shown(report_of({}, [result]).complaints)


def _text(violation: Violation) -> str:
    return f"{violation.rule.replace('_', ' ')} [{violation.kind}]: {violation.detail}"


def result_of(seed: str, history: History, seconds: float) -> Result:
    killed = [boot for boot in history.boots if boot.killed]
    return Result(
        seed=seed,
        kills=len(killed),
        kills_in_start=sum(boot.ready is None for boot in killed),
        suspensions=sum(len(boot.suspended) for boot in history.boots),
        drains=drains(history),
        messages=sum(sent.acked is not None for sent in history.sent),
        answered=sum(timeline.status == "answered" for timeline in history.timelines.values()),
        repeated=sum(sent.tries > 1 for sent in history.sent),
        refusals=len(history.refusals),
        calls=len(history.calls),
        seconds=seconds,
        recoveries=tuple(recoveries(history).values()),
        violations=judge(RULES, history),
    )


def totals(results: Sequence[Result]) -> dict[str, Any]:
    """Return the sums over all episodes, with one figure for each kind of violation."""
    kills = sum(result.kills for result in results)
    stops = sorted(each for result in results for each in result.drains)
    disturbances = kills + len(stops) + sum(result.suspensions for result in results)
    seconds = sum(result.seconds for result in results)
    return {
        "kills": kills,
        "killsDuringStart": sum(result.kills_in_start for result in results),
        "suspensions": sum(result.suspensions for result in results),
        "stops": len(stops),
        **{f"stopSecondsP{share}": round(_percentile(stops, share), 2) for share in (50, 99)},
        "messages": sum(result.messages for result in results),
        "answered": sum(result.answered for result in results),
        "refusals": sum(result.refusals for result in results),
        **by_kind(results),
        "interruptedCalls": sum(len(result.recoveries) for result in results),
        "worstRecoverySeconds": round(max((each for result in results for each in result.recoveries), default=0.0), 3),
        "secondsPerDisturbance": round(seconds / disturbances, 2) if disturbances else 0.0,
    }


def _percentile(ordered: Sequence[float], share: int) -> float:
    """Return the percentile by the nearest rank; 0 for an empty list."""
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0.0


def table(figures: Mapping[str, Any]) -> str:
    width = max(len(name) for name in figures)
    return "\n".join(f"{name:<{width}}  {value:>8}" for name, value in figures.items())
