"""Days of schedules in fast motion, with clock changes, jumps and restarts. The whole replay: `python -m
tests.flows.month_replay --restarts 200`."""

from __future__ import annotations

from pathlib import Path

import pytest

from arvis.domain.schedules import OccurrenceStatus
from tests.flows import daemon_replay
from tests.flows.month_replay import replay


@pytest.mark.parametrize(("start", "seed"), [("2027-10-30 12:00", 7), ("2027-03-13 12:00", 8)])
async def test_no_time_comes_twice_and_none_is_lost(tmp_path: Path, start: str, seed: int) -> None:
    told, wrong = await replay(start, 1.0, 8, seed, tmp_path)
    assert wrong == []
    assert told.restarts >= 4
    assert sum(one.status is not OccurrenceStatus.SKIPPED for one in told.occurrences) > 50


def test_the_daemon_itself_runs_nothing_twice_whatever_its_clock_says(tmp_path: Path) -> None:
    """With 20 restarts: `python -m tests.flows.daemon_replay`."""
    ran, wrong = daemon_replay.replay(tmp_path, 2, seed=1)
    assert wrong == []
    assert ran > 5
