"""The matrix: a run without faults finds all calls, then each call gets every kind of wrong answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.campaign import play_all
from tests.platforms.faults.case import Case, Record, play
from tests.platforms.faults.platforms import Platform, opened
from tests.platforms.faults.rules import problems
from tests.platforms.faults.wire import EITHER, SPOILED, Fault, Kind

#: Number of wrong answers in a case. With two, the first retry fails as well.
_TIMES = 2
#: Maximum seconds of a run without faults.
_SOUND = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    record: Record
    problems: Sequence[str]

    def __str__(self) -> str:
        return f"{self.record.case.label}: {'; '.join(self.problems)}"

    def document(self) -> dict[str, Any]:
        record = self.record
        return {
            "case": record.case.label, "hits": record.hits, "problems": list(self.problems), "tokens": record.tokens,
            "states": [[state.value, error] for state, error in record.states], "notices": record.notices,
            "errors": record.errors, "up_after": record.up_after, "seconds": round(record.seconds, 1),
        }  # fmt: skip


async def calls(platform: str) -> list[str]:
    """Return the calls of a bot in a run without faults, in which people do everything that they can do."""
    return (await play(Case(platform, Fault("", Kind.CUT)), _SOUND)).asked


async def cases(platform: str) -> list[Case]:
    return [case for call in await calls(platform) for case in cases_of(platform, call)]


def cases_of(platform: str, call: str) -> list[Case]:
    ways = [(kind, carried_out) for kind in Kind for carried_out in _ways(kind)]
    return [Case(platform, Fault(call, kind, carried_out, _TIMES)) for kind, carried_out in ways]


def _ways(kind: Kind) -> tuple[bool, ...]:
    if kind in SPOILED:
        return (True,)
    return (False, True) if kind in EITHER else (False,)


async def run(
    chosen: Sequence[Case], *, patience: float, parallel: int, show: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    async def one(case: Case) -> Outcome:
        record = await play(case, patience)
        return Outcome(record, problems(record, await _promises(case.platform)))

    return await play_all(map(one, chosen), parallel, show)


async def _promises(platform: str) -> Platform:
    async with opened(platform) as found:
        return found
