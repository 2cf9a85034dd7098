"""Branches that split and join in real runs: regions, merges, joins, failures and dead ends."""

from __future__ import annotations

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.flows.drawn_kit import START, drawing, node, pause, ran

NO = ProviderError(ProviderErrorKind.AUTH, "no")
ROUTES = [{"label": "A"}, {"label": "B"}]
P, M = node("p", "parallel"), node("m", "merge", "Together")


def chance(node_id: str) -> dict[str, object]:
    """Return a router node that asks the model and fails if the scripted answer fails; the prompt contains the node's
    id."""
    return node(node_id, "router", node_id.upper(), prompt=f"for {node_id}", routes=ROUTES)


def every(node_id: str, target: str) -> list[str]:
    return [f"{node_id}:route-0 > {target}", f"{node_id}:route-1 > {target}"]


# -- parallel and merge ------------------------------------------------------------------------------------------------


async def test_a_merge_goes_on_once_with_the_list_of_all(store: Store) -> None:
    document = drawing(
        START, P, pause("b", 9), pause("a", 1), M, pause("end", 0), ways=["start > p > a > m > end", "p > b > m"]
    )
    found = await ran(store, document)
    assert found.visited("m") == 1
    assert found.output == ["hello", "hello"]
    assert found.lines("m", "join") == ["2 branches have come together"]


async def test_a_branch_that_ends_before_is_not_waited_for(store: Store) -> None:
    some = node("i", "if", conditions=[{"operator": "contains", "value": "never"}])
    document = drawing(START, P, pause("a", 1), some, M, ways=["start > p > a > m", "p > i", "i:condition-0 > m"])
    assert (await ran(store, document)).output == ["hello"]


async def test_a_failing_branch_is_told_at_the_merge_and_the_others_finish(store: Store) -> None:
    document = drawing(
        START, P, chance("x"), pause("slow", 30), M, ways=["start > p > x", *every("x", "m"), "p > slow > m"]
    )
    found = await ran(store, document, answers={"for x": NO})
    first, second = found.output
    assert (list(first), second) == (["failed"], "hello")
    assert first["failed"].startswith("X: ")
    assert found.lines("x", "branch_failed") == ["The run continues at Together."]
    assert found.lines("m", "warning")[0].startswith("1 of 2 branches failed: X: ")


async def test_when_all_branches_fail_the_run_fails(store: Store) -> None:
    document = drawing(
        START, P, chance("x"), chance("y"), M, ways=["start > p > x", "p > y", *every("x", "m"), *every("y", "m")]
    )
    found = await ran(store, document, answers={"Choose": NO})
    assert found.execution.status is ExecutionStatus.FAILED
    assert found.execution.error is not None
    assert found.execution.error.startswith("Together: too few of the merged branches succeeded: X: ")


async def test_a_merge_that_fails_is_told_at_the_merge_around_it(store: Store) -> None:
    document = drawing(
        START,
        P,
        node("q", "parallel"),
        chance("x"),
        node("inner", "merge"),
        pause("b", 1),
        M,
        ways=["start > p > q > x", *every("x", "inner"), "inner > m", "p > b > m"],
    )
    found = await ran(store, document, answers={"for x": NO})
    assert found.output[1] == "hello"
    assert found.output[0]["failed"].startswith("inner: too few")


async def test_without_a_merge_a_failing_branch_fails_the_run(store: Store) -> None:
    document = drawing(START, P, chance("x"), pause("b", 30), pause("c", 0), ways=["start > p > x", "p > b > c"])
    document["connections"] += [
        {**document["connections"][0], "id": "z", "source": "x", "sourceHandle": "route-0", "target": "c"}
    ]
    found = await ran(store, document, answers={"for x": NO})
    assert found.execution.status is ExecutionStatus.FAILED
    assert found.visited("c") == 0


async def test_a_failing_node_behind_the_merge_fails_the_run(store: Store) -> None:
    document = drawing(
        START,
        P,
        pause("a", 0),
        pause("b", 0),
        M,
        chance("x"),
        pause("c", 0),
        ways=["start > p > a > m > x", "p > b > m", "x:route-0 > c"],
    )
    found = await ran(store, document, answers={"for x": NO})
    assert found.execution.status is ExecutionStatus.FAILED


async def test_the_first_goes_on_and_stragglers_only_end(store: Store) -> None:
    first = node("m", "merge", strategy="first")
    document = drawing(
        START,
        P,
        pause("slow", 60),
        pause("fast", 1),
        first,
        pause("end", 5),
        ways=["start > p > slow > m > end", "p > fast > m"],
    )
    found = await ran(store, document)
    assert (found.visited("m"), found.visited("end"), found.output) == (1, 1, ["hello"])
    assert found.execution.updated_at - found.execution.created_at >= 60_000


async def test_a_parallel_that_is_visited_twice_has_two_merges(store: Store) -> None:
    document = drawing(
        START,
        pause("one", 1),
        pause("two", 3),
        P,
        pause("a", 1),
        pause("b", 10),
        M,
        ways=["start > one > p", "start > two > p", "p > a > m", "p > b > m"],
    )
    found = await ran(store, document)
    assert found.visited("m") == 2
    assert found.lines("m", "join") == ["2 branches have come together"] * 2


async def test_a_parallel_in_a_loop_merges_in_every_round(store: Store) -> None:
    document = drawing(
        START,
        node("l", "loop", maxIterations=3),
        P,
        pause("a", 1),
        pause("b", 2),
        M,
        pause("end", 0),
        ways=["start > l", "l:loop-start > p > a > m > @loop-back l", "p > b > m", "l:loop-exit > end"],
    )
    found = await ran(store, document)
    assert (found.visited("p"), found.visited("m"), found.visited("end")) == (3, 3, 1)


# -- join of other kinds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("join", "visits", "output"),
    [
        ({"join": "all"}, 1, ["hello"] * 3),
        ({"join": "any"}, 1, "hello"),
        ({"join": "n", "joinCount": 2}, 1, ["hello"] * 2),
    ],
)
async def test_a_node_joins_as_it_says(store: Store, join: dict[str, object], visits: int, output: object) -> None:
    document = drawing(
        START,
        *(pause(each, number) for number, each in enumerate("abc", 1)),
        pause("j", 0, **join),
        ways=["start > a > j", "start > b > j", "start > c > j"],
    )
    found = await ran(store, document)
    assert found.visited("j") == visits
    assert found.of("j") == output


async def test_one_of_several_ways_brings_its_output_as_it_is(store: Store) -> None:
    some = node("i", "if", conditions=[{"operator": "contains", "value": "ell"}])
    document = drawing(
        START,
        some,
        pause("a", 1),
        pause("b", 1),
        pause("j", 0, join="all"),
        ways=["start > i", "i:condition-0 > a > j", "i:false > b > j"],
    )
    assert (await ran(store, document)).of("j") == "hello"


async def test_in_a_loop_any_lets_one_through_in_every_round(store: Store) -> None:
    document = drawing(
        START,
        node("l", "loop", maxIterations=3),
        pause("s", 0),
        pause("a", 1),
        pause("b", 40),
        pause("j", 0, join="any"),
        ways=["start > l", "l:loop-start > s > a > j > @loop-back l", "s > b > j"],
    )
    found = await ran(store, document)
    assert found.visited("j") == 3


# -- dead ends ---------------------------------------------------------------------------------------------------------


async def test_joins_that_wait_for_one_another_fail_the_run_by_name(store: Store) -> None:
    some = [node(each, "if", conditions=[{"operator": "contains", "value": "ell"}]) for each in ("i", "k")]
    document = drawing(
        START,
        *some,
        node("x", "wait", "Left", amount=0, join="all"),
        node("y", "wait", "Right", amount=0, join="all"),
        ways=["start > i", "start > k", "i:condition-0 > x > y", "k:condition-0 > y > x"],
    )
    found = await ran(store, document)
    assert found.execution.status is ExecutionStatus.FAILED
    assert found.execution.error == (
        "The execution cannot continue, because branches can no longer arrive at “Left”, “Right”."
    )


async def test_a_number_that_is_never_reached_fails_the_run_by_name(store: Store) -> None:
    some = node("i", "if", conditions=[{"operator": "contains", "value": "never"}])
    document = drawing(
        START,
        some,
        pause("a", 1),
        pause("other", 5),
        node("j", "wait", "Two of them", amount=0, join="n", joinCount=2),
        ways=["start > i", "start > a > j", "start > other", "i:condition-0 > j"],
    )
    found = await ran(store, document)
    assert found.execution.status is ExecutionStatus.FAILED
    # The branch that ended earlier waits for nothing.
    assert found.execution.error == (
        "The execution cannot continue, because branches can no longer arrive at “Two of them”."
    )
