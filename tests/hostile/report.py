"""The figures of the campaign, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.hostile.campaign import Result

_SLOWEST = 5


def table(results: Sequence[Result]) -> str:
    head = f"{'provider':<11}{'played':>7}{'answered':>9}{'failed':>7}{'wrong':>6}{'stall':>8}{'crowd':>8}{'memory':>9}{'orphans':>8}{'s':>6}"
    return "\n".join([head, *(_line(result) for result in results)])


def _line(result: Result) -> str:
    stall, _ = result.longest_stall
    return (
        f"{result.provider:<11}{result.played:>7}{result.answered:>9}{result.failed:>7}{len(result.found):>6}"
        f"{stall * 1000:>5.0f} ms{result.crowd_stall * 1000:>5.0f} ms{result.growth:>+6.0f} MB{len(result.orphans):>8}"
        f"{result.seconds:>6.0f}"
    )


def explain(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        slowest = sorted(result.stalls.items(), key=lambda each: -each[1])[:_SLOWEST]
        longest = ", ".join(f"{case} {stall * 1000:.0f} ms" for case, stall in slowest)
        lines += [f"{result.provider}: the longest stalls are {longest}"]
        lines += [f"{result.provider}: {found}" for found in result.found]
        lines += [f"{result.provider}: its folder is kept in {result.evidence}"] if result.evidence else []
    return "\n".join(lines)


def document(result: Result) -> dict[str, Any]:
    stall, case = result.longest_stall
    return {
        "provider": result.provider,
        "seed": result.seed,
        "played": result.played,
        "answered": result.answered,
        "failed": result.failed,
        "violations": result.found,
        "longestStallMs": round(stall * 1000),
        "longestStallCase": case,
        "crowdStallMs": round(result.crowd_stall * 1000),
        "memoryMb": [round(figure, 1) for figure in result.memory],
        "memoryGrowthMb": round(result.growth, 1),
        "orphans": result.orphans,
        "seconds": round(result.seconds),
    }
