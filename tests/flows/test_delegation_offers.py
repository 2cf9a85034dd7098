"""To which agents an agent is told that it can hand a task: for people who run Arvis also to those that can do more."""

from __future__ import annotations

import pytest

from arvis.store.opening import Database
from tests.flows.house import HELPER, agent_with, open_house


@pytest.mark.parametrize(("user", "offered"), [("owner", True), ("ann", False)])
async def test_an_abler_agent_is_offered_to_owners_only(database: Database, user: str, offered: bool) -> None:
    worker = agent_with(id="agent-worker", slug="worker", name="Worker", tools=("srv.dig",), allow_users=("owner",))
    async with open_house(database, agents=[HELPER, worker]) as house:
        await house.ask("Dig", user=user)
        assert ("worker" in house.provider.asked[-1].system) is offered
