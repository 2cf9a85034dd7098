"""Some towns of the campaign in `handover_campaign.py`: every turn ends within its limits, and no agent runs that the
asking person cannot use."""

from __future__ import annotations

from pathlib import Path

from tests.flows.handover_campaign import Sums, play

TOWNS, SEED = 50, 3


async def test_whatever_agents_hand_over_ends_within_its_limits(tmp_path: Path) -> None:
    sums = Sums()
    await play(tmp_path, range(TOWNS), SEED, sums, tell=lambda _: None)
    assert sums.broken == []
    assert sums.counts["towns"] == TOWNS
    assert min(sums.most[each] for each in ("hops", "tasks", "depth", "overspent")) > 0
