"""Short forms of stops, fast restarts, a prompt that kills, and a second daemon.

The long forms are `python -m tests.crash --stops 50`, `--restarts 200` and `--poison`.
"""

from __future__ import annotations

import pytest

from tests.crash.campaign import fresh_seed
from tests.crash.chat_episode import ChatPlan, play
from tests.crash.disturbances import ROW, Disturbance, Instant
from tests.crash.report import explain
from tests.crash.variants.build import Edit, copied

#: Pauses after a crash, a tenth of the daemon's own, with which the prompt would take 36 seconds.
SHORT_PAUSES = Edit(
    "arvis/store/queries/jobs.sql",
    old="CASE crashes WHEN 1 THEN 1000 WHEN 2 THEN 5000 WHEN 3 THEN 30000 ELSE 0 END",
    new="CASE crashes WHEN 1 THEN 100 WHEN 2 THEN 500 WHEN 3 THEN 3000 ELSE 0 END",
)


async def test_a_stop_under_load_loses_nothing_and_counts_as_no_crash() -> None:
    with copied() as code:
        result = await play(ChatPlan(fresh_seed(), 2, code, disturbance=Disturbance.STOP, window=1.0))
    assert len(result.drains) >= 1, "the clean stop at the end of an episode counts, too"
    assert not result.violations, explain(result)


@pytest.mark.long
async def test_a_row_of_fast_restarts_fails_no_job_and_a_second_daemon_exits() -> None:
    with copied() as code:
        result = await play(ChatPlan(fresh_seed(), ROW + 1, code, instant=Instant.RESTARTS))
    assert result.kills == ROW + 1
    assert not result.violations, explain(result)


async def test_a_prompt_that_kills_is_given_up_alone() -> None:
    """Jobs that run beside it crash as often at first, but they are answered in the end."""
    with copied(SHORT_PAUSES) as code:
        result = await play(ChatPlan(fresh_seed(), 0, code, poison=True, rate=2.0))
    assert not result.violations, explain(result)
