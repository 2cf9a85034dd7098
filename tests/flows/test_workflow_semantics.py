"""Seed 002, line by line: the meaning of each node and connection at run time, with the real engine and runner."""

from __future__ import annotations

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind, Unprocessable
from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from arvis.workflows.compiler import compile_document
from tests.flows.drawn_kit import START, Play, WorkflowStage, drawing, links, node, pause, ran

NO = ProviderError(ProviderErrorKind.AUTH, "no")


def if_(node_id: str, *values: str, operator: str = "contains") -> dict[str, object]:
    return node(node_id, "if", conditions=[{"operator": operator, "value": value} for value in values])


# -- start -------------------------------------------------------------------------------------------------------------


async def test_start_gives_its_initial_input_or_an_empty_string(store: Store) -> None:
    """Output value is node.data.initialInput or empty string."""
    after = node("w", "wait", amount=0)
    assert (await ran(store, drawing(START, after, ways=["start > w"]))).output == "hello"
    assert (await ran(store, drawing(node("start", "start"), after, ways=["start > w"]))).output == ""


async def test_start_gives_what_the_run_was_given(store: Store) -> None:
    found = await ran(store, drawing(START, pause("w", 0), ways=["start > w"]), input={"a": 1})
    assert found.output == {"a": 1}
    assert found.lines("start", "start_prompt") == ['{"a":1}']


async def test_a_document_must_have_a_start(store: Store) -> None:
    """Must exist exactly once for a runnable graph. Missing start: failed."""
    document = drawing(pause("w", 0), ways=[])
    found = await ran(store, document, entry="w")
    assert found.execution.status is ExecutionStatus.FAILED
    play = Play(document)
    with pytest.raises(Unprocessable):
        compile_document(document, play.node_parts(store), "workflow:x")


# -- if ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "taken"), [("SOME Yes", "a"), ("no yes", "a"), ("no", "b"), ("neither of them", "c")]
)
async def test_the_first_matching_condition_wins_else_false(store: Store, given: str, taken: str) -> None:
    """First matching condition wins. condition-<index> for condition branches, false for fallback branch."""
    document = drawing(
        START,
        if_("i", "yes", "no"),
        *(pause(each, 0) for each in "abc"),
        ways=["start > i", "i:condition-0 > a", "i:condition-1 > b", "i:false > c"],
    )
    found = await ran(store, document, input=given)
    assert [each for each in "abc" if found.visited(each)] == [taken]
    assert found.output == given  # an `if` node passes its input on unchanged


async def test_l1_an_empty_value_never_matches(store: Store) -> None:
    document = drawing(START, if_("i", "", operator="equal"), pause("a", 0), ways=["start > i", "i:false > a"])
    found = await ran(store, document, input="   ")
    assert found.visited("a") == 1
    assert found.lines("i", "logic_check") == ["The output equals an empty text, which counts as false: no"]


async def test_l2_an_object_is_compared_as_its_json(store: Store) -> None:
    document = drawing(START, if_("i", '"a":1'), pause("a", 0), ways=["start > i", "i:condition-0 > a"])
    assert (await ran(store, document, input={"A": 1})).visited("a") == 1


async def test_the_first_condition_also_accepts_the_old_handle(store: Store) -> None:
    """Legacy compatibility: condition index 0 also accepts old handle true; legacy if.data.condition."""
    document = drawing(START, node("i", "if", condition="ell"), pause("a", 0), ways=["start > i", "i:true > a"])
    assert (await ran(store, document)).visited("a") == 1


async def test_a_branch_without_a_connection_ends_quietly(store: Store) -> None:
    document = drawing(START, if_("i", "x"), pause("a", 0), ways=["start > i", "i:condition-0 > a"])
    found = await ran(store, document)
    assert (found.output, found.order) == ("hello", ["start", "i"])
    assert found.log[-1].type == "run_end"


async def test_every_check_is_logged(store: Store) -> None:
    document = drawing(START, if_("i", "no", "he", "never"), pause("a", 0), ways=["start > i", "i:condition-1 > a"])
    found = await ran(store, document)
    assert found.lines("i", "logic_check") == ["The output contains “no”: no", "The output contains “he”: yes"]


# -- branches ----------------------------------------------------------------------------------------------------------


async def test_several_connections_run_at_once(store: Store) -> None:
    """Multiple outgoing execution branches run concurrently."""
    document = drawing(
        START, pause("slow", 60), pause("fast", 5), pause("after", 5), ways=["start > slow", "start > fast > after"]
    )
    found = await ran(store, document)
    begun = found.execution.created_at
    ended = {each.node_id: each.at - begun for each in found.log if each.type == "step_end"}
    assert (ended["fast"], ended["after"]) == (5_000, 10_000)
    assert 60_000 <= ended["slow"] < 62_000


async def test_l5_a_node_with_two_connections_runs_once_for_every_arrival(store: Store) -> None:
    document = drawing(
        START,
        pause("a", 1),
        pause("b", 2),
        pause("both", 0),
        pause("end", 0),
        ways=["start > a > both > end", "start > b > both"],
    )
    found = await ran(store, document)
    assert (found.visited("both"), found.visited("end")) == (2, 2)


async def test_the_output_of_a_run_is_that_of_the_branch_that_ended_last(store: Store) -> None:
    ways = ["start > p > w > m", "p > m", "start > late"]
    nodes = (START, node("p", "parallel"), pause("w", 2), node("m", "merge"))
    assert (await ran(store, drawing(*nodes, pause("late", 9), ways=ways))).output == "hello"
    assert (await ran(store, drawing(*nodes, pause("late", 1), ways=ways))).output == ["hello", "hello"]


# -- errors ------------------------------------------------------------------------------------------------------------


async def test_an_error_fails_the_run_and_is_logged_once(store: Store) -> None:
    """Errors: message logged once, run failed, other branches stop before their next node."""
    document = drawing(
        START,
        node("r", "router", "Choice", routes=[{"label": "A"}]),
        pause("slow", 30),
        pause("never", 0),
        ways=["start > r", "r:route-0 > never", "start > slow > never"],
    )
    found = await ran(store, document, answers={"Choose": NO})
    assert found.execution.status is ExecutionStatus.FAILED
    assert found.execution.error is not None
    assert found.execution.error.startswith("Choice: ")
    assert [(each.node_id, each.type) for each in found.log if "error" in each.type] == [("r", "llm_error")]
    assert (found.visited("slow"), found.visited("never")) == (1, 0)
    assert found.log[-1].type == "run_end"


async def test_circles_are_allowed_and_end_at_the_limit(store: Store) -> None:
    """Loops allowed in execution edges; a limit of visits names the node."""
    document = drawing(
        START, pause("a", 0), node("b", "wait", "Again", amount=0), ways=["start > a > b > a"], maxVisits=7
    )
    found = await ran(store, document)
    assert found.execution.error == "The run visited “a” more than 7 times."
    assert (found.visited("a"), found.visited("b")) == (7, 7)


async def test_a_run_has_so_many_steps(store: Store) -> None:
    document = drawing(START, pause("a", 0), pause("b", 0), ways=["start > a > b > a"], maxSteps=20)
    found = await ran(store, document)
    assert found.execution.error is not None
    assert found.execution.error.startswith("The run made more than 20 steps")


async def test_branches_that_multiply_without_end_fail_the_run(store: Store) -> None:
    fan = [f"a{number}" for number in range(20)]
    ways = ["start > hub", *(f"hub > {each} > hub" for each in fan)]
    document = drawing(START, pause("hub"), *map(pause, fan), ways=ways, maxSteps=50_000, maxVisits=5_000)
    found = await ran(store, document)
    assert found.execution.error == "The execution would have more than 1000 branches at once."


async def test_what_makes_no_sense_to_a_node_is_an_error_of_its_branch(store: Store) -> None:
    nodes = (node("p", "parallel"), node("r", "router", "Choice", agent="nobody-here", routes=[{"label": "A"}]))
    ways = ["start > p > r", "r:route-0 > m", "p > w > m"]
    found = await ran(store, drawing(START, *nodes, pause("w"), node("m", "merge"), ways=ways))
    assert found.output[0]["failed"].startswith("Choice: There is no agent nobody-here")
    assert found.output[1] == "hello"


async def test_an_unknown_kind_is_skipped_with_a_warning(store: Store) -> None:
    """Unknown type: warning, skipped with null output and the flow goes on."""
    document = drawing(START, node("x", "end"), pause("a", 0), ways=["start > x > a"])
    found = await ran(store, document)
    assert found.output is None
    assert len(found.lines("x", "warning")) == 1


async def test_edits_during_a_run_do_not_affect_it(store: Store) -> None:
    """A run keeps the version with which it began, even when the workflow has been removed."""
    play = Play(drawing(START, pause("w", 30), pause("a", 0), ways=["start > w > a"]))
    stage = WorkflowStage(store, play)
    await stage.begin()
    await store.write(play.draw_anew, drawing(START, pause("w", 30), ways=["start > w"]))
    await stage.play()
    assert (await stage.execution()).state["out:a"]["output"] == "hello"


def test_a_line_of_links_is_read() -> None:
    found = links("a:x > @y b:z > c")
    assert [(each["source"], each["sourceHandle"], each["target"], each["targetHandle"]) for each in found] == [
        ("a", "x", "b", "y"),
        ("b", "z", "c", ""),
    ]
