"""A run once more from a node in its midst: all that came there, and what branches beside it brought, is there again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.store.open import Database
from arvis.workflows.reruns import rerun
from tests.flows.drawn_kit import drawing, node
from tests.flows.house import House, open_house
from tests.flows.people_kit import begun, drawn, ended

TRIGGER = node("go", "trigger", kind="message", words="never said")


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    async with open_house(database) as house:
        yield house


def says(name: str, text: str = "", **data: Any) -> dict[str, Any]:
    return node(name, "response", name, template=text, **data)


async def ran(house: House, document: Mapping[str, Any]) -> Execution:
    run_id = await begun(house, await drawn(house, dict(document)))
    run = await ended(house, run_id)
    assert run.status is ExecutionStatus.DONE, run.error
    return run


async def once_more(house: House, run: Execution, at: str) -> Execution:
    again = await house.store.write(rerun, run.id, at, house.clock.now(), by=run.principal_id)
    return await ended(house, again.id)


def outputs(run: Execution) -> dict[str, Any]:
    return {name.removeprefix("out:"): each["output"] for name, each in run.state.items() if name.startswith("out:")}


async def visited(house: House, run: Execution) -> list[str]:
    lines = await house.store.read(lambda tx: tx.workflow_runs.entries(run.id, 0, 500))
    return [each.node_id for each in lines if each.type == "step_start"]


FORK = drawing(
    TRIGGER,
    node("p", "parallel"),
    says("a", "A"),
    says("b", "B"),
    node("m", "merge"),
    says("end", "{{m}}"),
    ways=["go > p > a > m", "p > b > m", "m > end"],
)


async def test_at_a_merge_every_branch_has_come(house: House) -> None:
    run = await ran(house, FORK)
    assert outputs(run)["m"] == ["A", "B"]
    again = await once_more(house, run, "m")
    assert outputs(again)["m"] == ["A", "B"]
    assert outputs(again)["end"] == '["A","B"]'
    assert await visited(house, again) == ["m", "end"]


@pytest.mark.parametrize("at", ["a", "b"])
async def test_in_a_branch_the_others_wait_at_the_merge_and_are_not_walked_again(house: House, at: str) -> None:
    again = await once_more(house, await ran(house, FORK), at)
    assert again.status is ExecutionStatus.DONE, again.error
    assert outputs(again)["m"] == ["A", "B"]
    assert await visited(house, again) == [at, "m", "end"]


async def test_at_a_join_of_a_plain_node_every_branch_has_come(house: House) -> None:
    document = drawing(
        TRIGGER, says("a", "A"), says("b", "B"), says("j", join="all"), ways=["go > a > j", "go > b > j"]
    )
    run = await ran(house, document)
    assert outputs(run)["j"] == '["A","B"]'
    for at in ("j", "a", "b"):
        assert outputs(await once_more(house, run, at))["j"] == '["A","B"]'


async def test_a_branch_that_failed_is_told_at_the_merge_again(house: House) -> None:
    document = drawing(
        TRIGGER,
        node("p", "parallel"),
        says("a", "A"),
        node("t", "tool-call", tool="nothing.there"),
        says("late"),
        node("m", "merge"),
        ways=["go > p > a > m", "p > t > late > m"],
    )
    run = await ran(house, document)
    (good, failed) = outputs(run)["m"]
    assert good == "A"
    assert "nothing" in failed["failed"]
    for at in ("m", "a"):
        again = await once_more(house, run, at)
        assert again.status is ExecutionStatus.DONE, again.error
        assert outputs(again)["m"] == ["A", failed]


async def test_of_a_count_one_place_is_left_for_the_branch_that_is_walked_again(house: House) -> None:
    document = drawing(
        TRIGGER,
        says("a", "A"),
        says("b", "B"),
        says("c", "C"),
        says("j", join="n", joinCount=2),
        ways=["go > a > j", "go > b > j", "go > c > j"],
    )
    again = await once_more(house, await ran(house, document), "c")
    assert again.status is ExecutionStatus.DONE, again.error
    assert outputs(again)["j"] == '["A","C"]'
    assert (await visited(house, again)).count("j") == 1


async def test_in_a_loop_its_rounds_go_on(house: House) -> None:
    document = drawing(
        TRIGGER,
        node("l", "loop", maxIterations=3),
        says("body"),
        says("end"),
        ways=["go > l", "l:loop-start > body > @loop-back l", "l:loop-exit > end"],
    )
    run = await ran(house, document)
    assert (await visited(house, run)).count("body") == 3
    again = await once_more(house, run, "body")
    # The newest visit was that of the last round.
    assert await visited(house, again) == ["body", "l", "end"]


async def test_where_two_ways_come_the_newest_is_taken(house: House) -> None:
    document = drawing(TRIGGER, says("a", "A"), says("b", "B"), says("c"), ways=["go > a > c", "a > b > c"])
    run = await ran(house, document)
    again = await once_more(house, run, "c")
    assert outputs(again)["c"] == outputs(run)["c"] == "B"
