"""Every scenario is cut before and after each of its commits, on both databases, and its end is always the same.

Scenarios with effects that must not repeat are cut a second time at every later commit, since an answer about an
interrupted effect holds for one start. The second cuts run on SQLite only, as they do not depend on the database.
"""

from __future__ import annotations

import pytest

from arvis.ports.store import Store
from tests.flows.engine_kit import Cut, Death, Scenario, Stage, deaths
from tests.flows.engine_scenarios import PAYMENTS, SCENARIOS


async def played(store: Store, scenario: Scenario, *cuts: Death) -> tuple[Stage, int]:
    """Run the scenario through these deaths, one in each process. Return it at its end, and the number of commits of
    the last process."""
    stage = Stage(store=store, scenario=scenario)
    await stage.begin()
    made = 0
    for death in cuts:
        try:
            writes = await stage.play(death)
        except Cut:
            made += 1
        else:  # branches that end at the same time share a commit, so that one run may have fewer than another
            assert writes < death.at
    commits = await stage.play()
    await stage.check(cuts=made)
    return stage, commits


@pytest.mark.parametrize("scenario", [*SCENARIOS, *PAYMENTS], ids=lambda scenario: scenario.name)
async def test_every_scenario_survives_a_cut_at_every_commit(either_store: Store, scenario: Scenario) -> None:
    _, commits = await played(either_store, scenario)
    for death in deaths(commits, either_store):
        await played(either_store, scenario, death)


@pytest.mark.parametrize("scenario", PAYMENTS[:2], ids=lambda scenario: scenario.name)
async def test_what_must_not_happen_twice_survives_a_second_cut(store: Store, scenario: Scenario) -> None:
    _, commits = await played(store, scenario)
    for first in deaths(commits):
        _, left = await played(store, scenario, first)
        for second in deaths(left) if left else ():  # after the first cut, there may be nothing left to commit
            await played(store, scenario, first, second)
