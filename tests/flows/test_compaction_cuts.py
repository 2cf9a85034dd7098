"""Compaction killed before and after each of its commits, while messages arrive. At every moment, each message is in
the history or in one summary. Facts are stored once, the model is called at most once more than needed, and all
messages can be restored unchanged."""

from __future__ import annotations

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.flows.compaction_kit import TURNS, Town
from tests.flows.engine_kit import Cut, Death, deaths


class Arrivals:
    """Another turn ends during each of the model's first two calls."""

    def __init__(self, town: Town) -> None:
        self._town = town
        self._calls = 0

    async def arrive(self, _flushes: bool) -> None:
        self._calls += 1
        if self._calls <= 2:
            await self._town.talk(TURNS + self._calls)


async def played(store: Store, *cuts: Death, rich: bool = False) -> tuple[Town, int]:
    """Compact a backlog of several rounds, with one more process after each death. Return it, and the number of writes
    of the last process."""
    town = Town(store, rich=rich)
    town.model.during = Arrivals(town).arrive
    await town.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await town.play(death)
        await town.check()
    writes = await town.play()
    await town.check()
    return town, writes


@pytest.mark.parametrize("rich", [False, True], ids=["plain", "with tools and files"])
async def test_compaction_survives_a_cut_at_every_commit(either_store: Store, rich: bool) -> None:
    town, writes = await played(either_store, rich=rich)
    needed, summaries = len(town.model.asked), len(await town.summaries())
    assert summaries >= 2
    assert needed == 2 * summaries
    for death in deaths(writes, either_store):
        town, _ = await played(either_store, death, rich=rich)
        assert len(town.model.asked) <= needed + 1, death
        assert len(await town.summaries()) == summaries, death
        facts = await town.facts()
        assert sum(map(len, facts.values())) == summaries, (death, facts)
        assert rich or all(changes == ["added"] for changes in facts.values()), (death, facts)
        assert (await town.execution()).status is ExecutionStatus.DONE
        sources = [source.partition(" ")[0] for one in await town.summaries() for source in one.sources]
        assert bool(sources) is rich
        await town.restore_all()
        assert any(each.rounds and each.files is not None for each in await town.history()) is rich
