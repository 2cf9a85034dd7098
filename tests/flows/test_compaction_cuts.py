"""Compaction killed before and after each of its commits, with messages arriving meanwhile (reliability.md R9): at every
moment each message is in the prompts or in one summary; facts are kept once; the model is asked at most once more than
was needed; and everything can be brought back as it was said."""

from __future__ import annotations

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.flows.compaction_kit import TURNS, Town
from tests.flows.engine_kit import Cut, Death, deaths


class Arrivals:
    """A turn ends while the model thinks, during its first two calls."""

    def __init__(self, town: Town) -> None:
        self._town = town
        self._calls = 0

    async def arrive(self, _flushes: bool) -> None:
        self._calls += 1
        if self._calls <= 2:
            await self._town.talk(TURNS + self._calls)


async def played(store: Store, *cuts: Death) -> tuple[Town, int]:
    """A backlog of several rounds, compacted by as many processes as it takes; and how many writes the last one made."""
    town = Town(store)
    town.model.during = Arrivals(town).arrive
    await town.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await town.play(death)
        await town.check()
    writes = await town.play()
    await town.check()
    return town, writes


async def test_compaction_survives_a_cut_at_every_commit(either_store: Store) -> None:
    town, writes = await played(either_store)
    needed, summaries = len(town.model.asked), len(await town.summaries())
    assert summaries >= 2
    assert needed == 2 * summaries
    for death in deaths(writes):
        town, _ = await played(either_store, death)
        assert len(town.model.asked) <= needed + 1, death
        assert len(await town.summaries()) == summaries, death
        facts = await town.facts()
        assert len(facts) == summaries, (death, facts)
        assert all(changes == ["added"] for changes in facts.values()), (death, facts)
        assert (await town.execution()).status is ExecutionStatus.DONE
        await town.restore_all()
