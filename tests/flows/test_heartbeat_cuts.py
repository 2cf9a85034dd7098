"""A heartbeat of several cycles, killed before and after each of its commits. It has the same cycles and the same end,
the owner gets one notice, and the model is called at most once more than needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.flows.engine_kit import Death, deaths
from tests.flows.heartbeat_kit import DONE, Pulse, PulseStage, blocked, outcome_of
from tests.flows.turn_kit import outlive

GATE = blocked("The gate of the fence is locked.")


def solved() -> Pulse:
    return Pulse({1: GATE, 2: "I dug a bed.", 3: f"Beans are in. {DONE}"}, max_cycles=3, projects=("beans", "shed"))


def stuck() -> Pulse:
    return Pulse({1: GATE, 2: GATE}, projects=("beans",))


def idle() -> Pulse:
    return Pulse(prompt="")


async def played(store: Store, pulse: Pulse, *cuts: Death) -> tuple[PulseStage, int]:
    stage = PulseStage(store, pulse)
    _, writes = await outlive(stage, cuts)
    return stage, writes


async def end_of(stage: PulseStage) -> object:
    """Return everything that must be equal after any cut."""
    execution = await stage.execution()
    cycles = await stage.cycles()
    assert [each.status for each in cycles] == [ExecutionStatus.DONE] * len(cycles)
    state = {name: execution.state.get(name) for name in ("cycle", "blocker", "summary", "taint", "status_note")}
    told = [text.replace(stage.pulse.agent.slug, "") for text in stage.told]
    return outcome_of(execution), execution.result["content"], stage.posted, len(cycles), state, told


@pytest.mark.parametrize("make", [solved, stuck, idle])
async def test_a_heartbeat_survives_a_cut_at_every_commit(either_store: Store, make: Callable[[], Pulse]) -> None:
    stage, writes = await played(either_store, make())
    needed, expected = len(stage.pulse.model.asked), await end_of(stage)
    for death in deaths(writes, either_store):
        stage, _ = await played(either_store, make(), death)
        assert await end_of(stage) == expected, death
        assert len(stage.pulse.model.asked) <= needed + 1, death


async def test_a_second_cut_changes_nothing(store: Store) -> None:
    stage, writes = await played(store, stuck())
    expected = await end_of(stage)
    for first in deaths(writes):
        _, left = await played(store, stuck(), first)
        for second in deaths(left) if left else ():
            stage, _ = await played(store, stuck(), first, second)
            assert await end_of(stage) == expected, (first, second)
