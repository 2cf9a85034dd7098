"""The figures of a campaign with platforms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.platform_history import History
from tests.crash.platform_oracle import RULES, placeholders, telegram_copies
from tests.crash.report import EpisodeResult, by_kind
from tests.crash.verdict import judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The figures of an episode with platforms."""

    kills_in_start: int
    messages: Mapping[str, int]
    redelivered: int
    failures: Mapping[str, int]
    sends: int
    #: Sends that were recorded as being in progress at a kill.
    under_way: int
    #: Superfluous copies of replies on Telegram.
    copies: int
    placeholders: int
    unknown: int
    #: Seconds from each start to ready.
    starts: Sequence[float]

    @property
    def figures(self) -> Mapping[str, Any]:
        return totals([self])


def result_of(seed: str, history: History, seconds: float) -> Result:
    killed = [boot for boot in history.boots if boot.killed]
    met = [send.failure.kind for send in history.sends if send.failure is not None]
    return Result(
        seed=seed,
        kills=len(killed),
        kills_in_start=sum(boot.ready is None for boot in killed),
        messages=Counter(written.platform for written in history.written),
        redelivered=sum(written.times - 1 for written in history.written),
        failures=Counter(met),
        sends=len(history.sends),
        under_way=sum(len(kill.under_way) for kill in history.kills),
        copies=telegram_copies(history),
        placeholders=placeholders(history),
        unknown=len(history.unknown),
        starts=[boot.ready - boot.spawned for boot in history.boots if boot.ready is not None],
        seconds=seconds,
        violations=judge(RULES, history),
    )


def totals(results: Sequence[Result]) -> dict[str, Any]:
    """Return the sums over all episodes, with one figure for each kind of violation."""
    messages = sum((Counter(result.messages) for result in results), Counter[str]())
    failures = sum((Counter(result.failures) for result in results), Counter[str]())
    starts = sorted(each for result in results for each in result.starts)
    kills = sum(result.kills for result in results)
    return {
        "kills": kills,
        "killsDuringStart": sum(result.kills_in_start for result in results),
        **{f"messages {platform}": count for platform, count in sorted(messages.items())},
        "redelivered": sum(result.redelivered for result in results),
        **{f"answered {kind}": count for kind, count in sorted(failures.items())},
        "sends": sum(result.sends for result in results),
        "underWayAtKills": sum(result.under_way for result in results),
        "furtherCopiesTelegram": sum(result.copies for result in results),
        "placeholdersTelegram": sum(result.placeholders for result in results),
        "unknownTelegram": sum(result.unknown for result in results),
        **by_kind(results),
        "startSecondsP50": round(starts[len(starts) // 2], 2) if starts else 0.0,
        "startSecondsWorst": round(starts[-1], 2) if starts else 0.0,
        "secondsPerKill": round(sum(result.seconds for result in results) / kills, 2) if kills else 0.0,
    }
