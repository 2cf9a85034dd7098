"""Some towns of the campaign (`handover_campaign.py`): whatever agents say to one another, it ends within its limits,
and nobody runs whom the asking person does not reach."""

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
