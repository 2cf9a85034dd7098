"""Some hostile servers of each format against the whole daemon: one reply or notice each, no process left behind.

The long campaign is `python -m tests.hostile`. It also measures stalls and memory, which CI does not judge.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.crash.history import Shown
from tests.hostile.campaign import Plan, Result, run
from tests.hostile.cases import CASES, CLAUDE, SHORT, SHORT_CLAUDE, cases_of
from tests.hostile.formats import FORMATS
from tests.hostile.mutations import places, spoiled
from tests.hostile.report import table
from tests.hostile.verdict import Played, violations

SEED = "short"


@pytest.mark.parametrize("provider", sorted(FORMATS))
async def test_each_hostile_server_gets_one_reply_or_notice(provider: str) -> None:
    """The formats share the cases, so that all formats together play each case once."""
    cases = SHORT[sorted(FORMATS).index(provider) :: len(FORMATS)]
    told: list[str] = []
    result = await run(Plan(provider, SEED, cases, always=0, parked=False, figures=False), told.append)
    assert result.played == len(cases)
    assert not result.found, "\n".join([table([result]), *told, *result.found])


async def test_each_hostile_program_gets_one_reply_or_notice_and_leaves_nobody_behind() -> None:
    told: list[str] = []
    result = await run(Plan(CLAUDE, SEED, SHORT_CLAUDE, always=0, parked=False, figures=False), told.append)
    assert result.played == len(SHORT_CLAUDE)
    assert not result.found, "\n".join([table([result]), *told, *result.found])


def test_there_are_enough_cases_and_those_of_the_short_form_exist() -> None:
    assert len(CASES) >= 250
    assert len(cases_of(CLAUDE)) >= 60
    assert set(SHORT) <= set(CASES)
    assert set(SHORT_CLAUDE) <= set(cases_of(CLAUDE))


@pytest.mark.parametrize("provider", sorted(FORMATS))
def test_a_mutation_spoils_something_and_is_the_same_again(provider: str) -> None:
    form = FORMATS[provider]
    spoilt = [spoiled(form, Random(number)) for number in range(50)]
    assert spoilt == [spoiled(form, Random(number)) for number in range(50)]
    assert len({str(documents) for documents in spoilt}) > 20


def test_every_value_has_a_place() -> None:
    assert list(places([{"a": [1]}])) == [(0,), (0, "a"), (0, "a", 0)]


GOOD = Played(
    case="c",
    manner="once",
    message="m",
    timeline={"status": "answered"},
    shown=[Shown(1, "r", "m", ("m",), "Hello"), Shown(2, "s", "p", ("p",), "All is well.")],
    after="answered",
    stall=0.0,
)


def spoil(**changes: object) -> Played:
    return Played(**{**{name: getattr(GOOD, name) for name in Played.__slots__}, **changes})


def test_a_good_end_is_no_violation() -> None:
    assert violations(GOOD) == []


@pytest.mark.parametrize(
    ("played", "complaint"),
    [
        (spoil(shown=[]), "0 replies"),
        (spoil(shown=[*GOOD.shown, GOOD.shown[0]]), "2 replies"),
        (spoil(timeline={"status": "running"}), "it is running"),
        (spoil(timeline={"status": "failed", "reason": "attempts"}), "given up"),
        (spoil(timeline={"status": "failed", "reason": "broken"}), "graph broke"),
        (spoil(shown=[Shown(1, "r", "m", ("m",), "x" * 300_000)]), "300000 bytes"),
        (spoil(shown=[Shown(1, "r", "m", ("m",), "Sorry, KeyError('a')")]), "channel shows 'Error('"),
        (spoil(shown=[Shown(1, "r", "m", ("m",), "a\0")]), "cannot be stored"),
        (spoil(after="failed"), "after it is failed"),
        (spoil(orphans=["9: claude"]), "left behind: 9"),
    ],
)
def test_the_verdict_notices(played: Played, complaint: str) -> None:
    [found] = violations(played)
    assert complaint in found


def test_the_longest_stall_and_the_growth_are_told() -> None:
    result = Result("p", "s", stalls={"a": 0.1, "b": 0.3}, memory=(50.0, 100.0, 110.0))
    assert result.longest_stall == (0.3, "b")
    assert "300 ms" in table([result])
    assert "+10 MB" in table([result])
