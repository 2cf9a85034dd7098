"""The shipped daemon under kill -9, and broken builds that prove that this test can fail.

The long campaign is `make crash KILLS=1000`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.builds import DoesNotApply, Edit, apply, copied
from tests.crash.campaign import Case, cases_of, fresh_seed, pin, pinned
from tests.crash.chat_episode import ChatPlan, play
from tests.crash.history import Boot, History, Sent
from tests.crash.report import explain, result_of, totals

KILLS = 20
SENT = Sent("m-000001", "chat-0", 0.0, 0.1, ("id-1",), 1)
BOOTS = [Boot(1, 0.0, 1.0, 2.0, killed=True), Boot(2, 2.1, None, 2.5, killed=True), Boot(3, 2.6, 3.0, None)]
EMPTY = History([], {}, {}, {}, [], BOOTS)


@pytest.mark.alone
async def test_twenty_kills_lose_nothing_and_repeat_nothing() -> None:
    """Each run uses a new seed. `make crash` stores failing seeds in pinned.json and replays them."""
    with copied() as code:
        result = await play(ChatPlan(fresh_seed(), KILLS, code, window=1.0))
    print(result)
    pin([result])
    assert result.kills == KILLS
    assert result.messages > KILLS
    assert not result.violations, explain(result)


@pytest.mark.parametrize(
    ("text", "reason"), [("nothing of the kind", "0 times"), ("old old", "2 times"), (None, "not exist")]
)
def test_a_variant_that_no_longer_fits_is_an_error(tmp_path: Path, text: str | None, reason: str) -> None:
    if text is not None:
        (tmp_path / "file.py").write_text(text)
    with pytest.raises(DoesNotApply, match=reason):
        apply(Edit("file.py", old="old", new="new"), tmp_path)


def test_kills_are_cut_into_episodes_that_can_be_replayed_alone() -> None:
    assert cases_of("s", 60, 25) == [Case("s.0", 25), Case("s.1", 25), Case("s.2", 10)]
    assert cases_of("s.1", 25, 25) == [Case("s.1", 25)]


def test_a_failed_seed_is_pinned_once(tmp_path: Path) -> None:
    path = tmp_path / "pinned.json"
    path.write_text("[]")
    failed = result_of("bad", replace(EMPTY, sent=[SENT]), 1.0)
    no_start = result_of("no start", replace(EMPTY, problems=("it did not start",)), 1.0)
    pin([failed, no_start, result_of("good", EMPTY, 1.0)], path)
    pin([failed], path)
    assert pinned(path) == [Case("bad", 2)]


def test_the_figures_of_a_report_add_up() -> None:
    failed = result_of("bad", replace(EMPTY, problems=("it broke", "again")), 3.0)
    figures = totals([failed, result_of("good", EMPTY, 1.0)])
    assert (figures["kills"], figures["other"], figures["lost"], figures["secondsPerDisturbance"]) == (4, 2, 0, 1.0)


def test_the_time_of_a_stop_counts_from_ready_boots_only() -> None:
    """A process that gets SIGTERM before it is ready has nothing to drain."""
    boots = [
        Boot(1, 0.0, 1.0, 4.5, stop_requested=2.0),
        Boot(2, 5.0, None, 5.1, stop_requested=5.1),
        Boot(3, 6.0, 7.0, 9.0, stop_requested=8.5),
    ]
    figures = totals([result_of("s", replace(EMPTY, boots=boots), 3.0)])
    assert (figures["stops"], figures["stopSecondsP50"], figures["stopSecondsP99"]) == (2, 2.5, 2.5)
