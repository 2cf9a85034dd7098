"""A rerun from a step in the middle of a run: it gets that step's input and the outputs of the other branches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.store.open import Database
from arvis.workflows.reruns import rerun
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.drawn_kit import drawing, node
from tests.flows.people_kit import begun, drawn, ended

TRIGGER = node("go", "trigger", kind="message", words="never said")


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database) as app:
        yield app


def says(name: str, text: str = "", **data: Any) -> dict[str, Any]:
    return node(name, "response", name, template=text, **data)


async def ran(app: AppHarness, document: Mapping[str, Any]) -> Execution:
    run_id = await begun(app, await drawn(app, dict(document)))
    run = await ended(app, run_id)
    assert run.status is ExecutionStatus.DONE, run.error
    return run


async def once_more(app: AppHarness, run: Execution, at: str) -> Execution:
    again = await app.store.write(rerun, run.id, at, app.clock.now(), by=run.principal_id)
    return await ended(app, again.id)


def outputs(run: Execution) -> dict[str, Any]:
    return {name.removeprefix("out:"): each["output"] for name, each in run.state.items() if name.startswith("out:")}


async def visited(app: AppHarness, run: Execution) -> list[str]:
    lines = await app.store.read(lambda tx: tx.workflow_runs.entries(run.id, 0, 500))
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


async def test_at_a_merge_every_branch_has_come(app: AppHarness) -> None:
    run = await ran(app, FORK)
    assert outputs(run)["m"] == ["A", "B"]
    again = await once_more(app, run, "m")
    assert outputs(again)["m"] == ["A", "B"]
    assert outputs(again)["end"] == '["A","B"]'
    assert await visited(app, again) == ["m", "end"]


@pytest.mark.parametrize("at", ["a", "b"])
async def test_in_a_branch_the_others_wait_at_the_merge_and_are_not_walked_again(app: AppHarness, at: str) -> None:
    again = await once_more(app, await ran(app, FORK), at)
    assert again.status is ExecutionStatus.DONE, again.error
    assert outputs(again)["m"] == ["A", "B"]
    assert await visited(app, again) == [at, "m", "end"]


async def test_at_a_join_of_a_plain_node_every_branch_has_come(app: AppHarness) -> None:
    document = drawing(
        TRIGGER, says("a", "A"), says("b", "B"), says("j", join="all"), ways=["go > a > j", "go > b > j"]
    )
    run = await ran(app, document)
    assert outputs(run)["j"] == '["A","B"]'
    for at in ("j", "a", "b"):
        assert outputs(await once_more(app, run, at))["j"] == '["A","B"]'


async def test_a_branch_that_failed_is_told_at_the_merge_again(app: AppHarness) -> None:
    document = drawing(
        TRIGGER,
        node("p", "parallel"),
        says("a", "A"),
        node("t", "tool-call", tool="nothing.there"),
        says("late"),
        node("m", "merge"),
        ways=["go > p > a > m", "p > t > late > m"],
    )
    run = await ran(app, document)
    (good, failed) = outputs(run)["m"]
    assert good == "A"
    assert "nothing" in failed["failed"]
    for at in ("m", "a"):
        again = await once_more(app, run, at)
        assert again.status is ExecutionStatus.DONE, again.error
        assert outputs(again)["m"] == ["A", failed]


async def test_of_a_count_one_place_is_left_for_the_branch_that_is_walked_again(app: AppHarness) -> None:
    document = drawing(
        TRIGGER,
        says("a", "A"),
        says("b", "B"),
        says("c", "C"),
        says("j", join="n", joinCount=2),
        ways=["go > a > j", "go > b > j", "go > c > j"],
    )
    again = await once_more(app, await ran(app, document), "c")
    assert again.status is ExecutionStatus.DONE, again.error
    assert outputs(again)["j"] == '["A","C"]'
    assert (await visited(app, again)).count("j") == 1


async def test_in_a_loop_its_rounds_go_on(app: AppHarness) -> None:
    document = drawing(
        TRIGGER,
        node("l", "loop", maxIterations=3),
        says("body"),
        says("end"),
        ways=["go > l", "l:loop-start > body > @loop-back l", "l:loop-exit > end"],
    )
    run = await ran(app, document)
    assert (await visited(app, run)).count("body") == 3
    again = await once_more(app, run, "body")
    # The newest visit was in the last round.
    assert await visited(app, again) == ["body", "l", "end"]


async def test_where_two_ways_come_the_newest_is_taken(app: AppHarness) -> None:
    document = drawing(TRIGGER, says("a", "A"), says("b", "B"), says("c"), ways=["go > a > c", "a > b > c"])
    run = await ran(app, document)
    again = await once_more(app, run, "c")
    assert outputs(again)["c"] == outputs(run)["c"] == "B"
