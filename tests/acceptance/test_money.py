"""A budget in the shipped daemon: the demo model has a price, one call at most overspends the budget, and later calls
are refused with a clear text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.acceptance.place import Place, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {
    "ARVIS__AGENTS": json.dumps([{"slug": "helper", "name": "Helper", "model": "demo"}]),
    "ARVIS__ROUTING__FALLBACK": "helper",
    # A thousand tokens of output cost one cent.
    "ARVIS__MODEL_PRICES": json.dumps({"demo": {"input": 0, "output": 10}}),
    "ARVIS__BUDGETS__DAILY_USD": "0.01",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with opened(tmp_path_factory.mktemp("money"), SETTINGS) as opened_place:
        yield opened_place


async def test_a_budget_of_a_cent_is_overspent_by_one_call_at_most(place: Place) -> None:
    timelines = [await place.ask("demo: tokens 600", "room") for _ in range(3)]
    assert [timeline["status"] for timeline in timelines] == ["answered", "answered", "failed"]
    assert [timeline["costUsd"] for timeline in timelines] == [0.006, 0.006, 0]
    assert timelines[2]["reason"] == "budget_day"
    assert "budget" in timelines[2]["reply"].lower()
    assert "$" not in timelines[2]["reply"]


async def test_the_usage_of_the_day_says_what_was_spent(place: Place) -> None:
    status, usage = await place.call("GET", "/api/usage")
    assert status == 200
    assert usage["total"]["costUsd"] == pytest.approx(0.012)
    assert usage["total"]["calls"] == 2
