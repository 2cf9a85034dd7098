"""Every scenario is cut before and after each of its commits, on both databases, and ends the same (issue: engine).

What must not happen twice is cut a second time at every commit of what follows (on SQLite: nothing there depends on the
database): a word about an interrupted effect holds for one start.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from arvis.ports.store import Store
from arvis.store.opening import Database
from tests.conformance.databases import opened
from tests.flows.engine_kit import Cut, Death, Scenario, Stage
from tests.flows.engine_scenarios import PAYMENTS, SCENARIOS
from tests.postgres import PostgresServer


@pytest.fixture(scope="module")
def cuts_url(postgres: PostgresServer) -> Iterator[str]:
    """One database for all: executions know nothing of one another."""
    with postgres.database("engine_cuts") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
async def either_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = request.getfixturevalue("cuts_url") if request.param == "postgres" else None
    async with opened(Database(tmp_path / "arvis.db", url, tmp_path)) as store:
        yield store


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    async with opened(database) as store:
        yield store


def deaths(commits: int) -> Iterator[Death]:
    """Before and after each commit of a process that would make so many."""
    assert commits > 0
    for at in range(1, commits + 1):
        yield Death(at, committed=False)
        yield Death(at, committed=True)


async def played(store: Store, scenario: Scenario, *cuts: Death) -> tuple[Stage, int]:
    """The scenario after these deaths, one of each process, at its end; and the commits of the last process."""
    stage = Stage(store=store, scenario=scenario)
    await stage.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await stage.play(death)
    commits = await stage.play()
    await stage.check(cuts=len(cuts))
    return stage, commits


@pytest.mark.parametrize("scenario", [*SCENARIOS, *PAYMENTS], ids=lambda scenario: scenario.name)
async def test_every_scenario_survives_a_cut_at_every_commit(either_store: Store, scenario: Scenario) -> None:
    _, commits = await played(either_store, scenario)
    for death in deaths(commits):
        await played(either_store, scenario, death)


@pytest.mark.parametrize("scenario", PAYMENTS[:2], ids=lambda scenario: scenario.name)
async def test_what_must_not_happen_twice_survives_a_second_cut(store: Store, scenario: Scenario) -> None:
    _, commits = await played(store, scenario)
    for first in deaths(commits):
        _, left = await played(store, scenario, first)
        for second in deaths(left) if left else ():  # the first cut may have left nothing to commit
            await played(store, scenario, first, second)
