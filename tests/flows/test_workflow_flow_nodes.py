"""The node kinds that route and repeat, in real runs."""

from __future__ import annotations

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.domain.taint import Label
from arvis.ports.store import Store
from tests.flows.drawn_kit import START, drawing, node, pause, ran

ROUTES = [{"label": "Sales", "description": "wants to buy"}, {"label": "Support"}]
TEN = [{"field": "total", "operator": "greater", "value": "10"}]


# -- router ------------------------------------------------------------------------------------------------------------


def routed(routes: object = ROUTES) -> dict[str, object]:
    return drawing(
        START,
        node("r", "router", prompt="By {{PREVIOUS_OUTPUT}}", routes=routes),
        pause("a"),
        pause("b"),
        ways=["start > r", "r:route-0 > a", "r:route-1 > b"],
    )


@pytest.mark.parametrize(("said", "taken"), [("support", "b"), (" **Sales**. ", "a"), ("“SUPPORT”\n", "b")])
async def test_a_router_takes_the_label_that_is_the_whole_answer(store: Store, said: str, taken: str) -> None:
    found = await ran(store, routed(), answers={"Choose the route": said})
    assert [each for each in "ab" if found.visited(each)] == [taken]
    assert found.output == "hello"
    assert len(found.stage.running.model.asked) == 1
    assert found.lines("r", "warning") == []


async def test_labels_that_differ_in_their_punctuation_are_told_apart(store: Store) -> None:
    for said, taken in (("C", "a"), ("c++", "b")):
        found = await ran(store, routed([{"label": "C"}, {"label": "C++"}]), answers={"Choose the route": said})
        assert [each for each in "ab" if found.visited(each)] == [taken]


async def test_an_answer_that_is_no_label_is_asked_for_once_more_with_the_labels(store: Store) -> None:
    answers = {"Choose the route": ["I would say Sales, no: Support", "Support"]}
    found = await ran(store, routed(), answers=answers)
    assert [each for each in "ab" if found.visited(each)] == ["b"]
    first, second = found.stage.running.model.asked
    assert "“Sales”, “Support”" in second.turns[-1].content
    assert "“Sales”, “Support”" not in first.turns[-1].content
    assert found.lines("r", "warning") == []


async def test_without_a_label_at_the_second_time_the_first_route_is_taken_with_a_warning(store: Store) -> None:
    found = await ran(store, routed(), answers={"Choose the route": "hmm, none of them"})
    assert [each for each in "ab" if found.visited(each)] == ["a"]
    assert len(found.stage.running.model.asked) == 2
    (warning,) = found.lines("r", "warning")
    assert "named none of the routes" in warning
    assert "“Sales”" in warning
    assert found.execution.state["out:r"]["warnings"] == [warning]


# -- condition ---------------------------------------------------------------------------------------------------------


def condition(rules: object = TEN, **data: object) -> dict[str, object]:
    return drawing(
        START,
        node("c", "condition", rules=rules, **data),
        pause("a"),
        pause("b"),
        ways=["start > c", "c:condition-true > a", "c:condition-false > b"],
    )


@pytest.mark.parametrize(("given", "taken"), [({"total": 12}, "a"), ({"total": 9}, "b"), ('{"total": "11.5"}', "a")])
async def test_a_condition_is_decided_by_the_data(store: Store, given: object, taken: str) -> None:
    found = await ran(store, condition(), input=given)
    assert [each for each in "ab" if found.visited(each)] == [taken]
    assert found.stage.running.model.asked == []


@pytest.mark.parametrize(
    ("rule", "taken"),
    [
        ({"field": "{{start.total}}", "operator": "greater", "value": "10"}, "a"),
        ({"field": "{{ start.total }}", "operator": "less", "value": "{{start.most}}"}, "a"),
        ({"field": "{{start.unit}}.count", "operator": "equals", "value": "3"}, "a"),
        ({"field": "{{start.total}}", "operator": "equals", "value": "{{start.most}}"}, "b"),
    ],
)
async def test_fields_of_rules_may_hold_templates(store: Store, rule: dict[str, str], taken: str) -> None:
    given = {"total": 12, "most": 20, "unit": "pens", "pens": {"count": 3}}
    found = await ran(store, condition([rule]), input=given)
    assert [each for each in "ab" if found.visited(each)] == [taken]
    assert found.stage.running.model.asked == []


async def test_a_field_that_names_nothing_is_left_to_the_agent(store: Store) -> None:
    rule = {"field": "{{Nobody.total}}", "operator": "greater", "value": "10"}
    found = await ran(store, condition([rule]), input={"total": 12}, answers={"Judge whether": "yes"})
    assert found.visited("a")
    assert len(found.stage.running.model.asked) == 1


@pytest.mark.parametrize(("given", "taken"), [("green", "a"), ("red", "b")])
async def test_values_of_an_if_may_hold_templates(store: Store, given: str, taken: str) -> None:
    document = drawing(
        START,
        node("w", "response", "Wish", template="Green"),
        node("i", "if", conditions=[{"operator": "equal", "value": "{{Wish}}"}]),
        pause("a"),
        pause("b"),
        node("g", "response", "Given", template="{{trigger}}"),
        ways=["start > w > g > i", "i:condition-0 > a", "i:false > b"],
    )
    found = await ran(store, document, input=given)
    assert [each for each in "ab" if found.visited(each)] == [taken]


@pytest.mark.parametrize(("said", "taken"), [("Yes.", "a"), ("true", "a"), ("It seems so", "b"), ("no", "b")])
async def test_without_data_a_model_decides_and_only_true_and_yes_pass(store: Store, said: str, taken: str) -> None:
    found = await ran(store, condition(), input="twelve pens", answers={"Judge whether": said})
    assert [each for each in "ab" if found.visited(each)] == [taken]
    assert len(found.stage.running.model.asked) == 1


@pytest.mark.parametrize(("said", "warnings"), [("It seems so", 1), ("False, I think.", 0)])
async def test_an_unclear_judgement_counts_as_false_with_a_warning(store: Store, said: str, warnings: int) -> None:
    found = await ran(store, condition(), input="twelve pens", answers={"Judge whether": said})
    assert [each for each in "ab" if found.visited(each)] == ["b"]
    assert len(found.lines("c", "warning")) == warnings
    repeated = loop(maxIterations=2, condition="it is short", conditionMode="llm")
    found = await ran(store, repeated, answers={"Judge whether": said})
    assert len(found.lines("l", "warning")) == warnings


@pytest.mark.parametrize("given", [{"total": 12}, "twelve"])
async def test_a_decision_upon_tainted_words_is_marked(store: Store, given: object) -> None:
    found = await ran(store, condition(), input=given, answers={"Judge": "yes"}, taint=frozenset({Label.PEOPLE}))
    assert found.execution.state["out:c"]["tainted"] is True
    assert found.lines("c", "step_end") == ["condition-true (tainted)"]
    some = node("i", "if", conditions=[{"operator": "contains", "value": "t"}])
    chosen = drawing(START, some, pause("a"), ways=["start > i", "i:condition-0 > a"])
    found = await ran(store, chosen, input=given, taint=frozenset({Label.PEOPLE}))
    assert found.execution.state["out:i"]["tainted"] is True
    clean = await ran(store, condition(), input={"total": 12})
    assert "tainted" not in clean.execution.state["out:c"]


# -- loop --------------------------------------------------------------------------------------------------------------


def loop(**data: object) -> dict[str, object]:
    return drawing(
        START,
        node("l", "loop", **data),
        pause("body"),
        pause("end"),
        ways=["start > l", "l:loop-start > body > @loop-back l", "l:loop-exit > end"],
    )


@pytest.mark.parametrize(
    ("data", "rounds"),
    [
        ({"maxIterations": 4}, 4),
        ({}, 10),
        ({"maxIterations": 4, "condition": "true"}, 1),
        ({"maxIterations": 4, "condition": "{{PREVIOUS_OUTPUT}} contains ELL"}, 1),
        ({"maxIterations": 2, "condition": "{{PREVIOUS_OUTPUT}} contains never"}, 2),
    ],
)
async def test_a_loop_repeats_its_body(store: Store, data: dict[str, object], rounds: int) -> None:
    found = await ran(store, loop(**data))
    assert (found.visited("body"), found.visited("end")) == (rounds, 1)
    assert found.lines("l", "loop")[0] == "repetition 1"


async def test_a_loop_has_all_its_rounds_within_the_limits_of_other_nodes(store: Store) -> None:
    """A node's visits are limited per round of a loop, and a run's steps over all visits."""
    document = loop(maxIterations=300)
    found = await ran(store, document)
    assert found.execution.status is ExecutionStatus.DONE, found.execution.error
    assert (found.visited("body"), found.visited("end")) == (300, 1)
    short = {**document, "settings": {"maxSteps": 600}}
    found = await ran(store, short)
    assert found.execution.error == "The run made more than 600 steps; it was at “body”."
    assert found.visited("body") == 299
    # 301 visits of the loop, 300 of the body, the start and the end.
    assert (await ran(store, {**document, "settings": {"maxSteps": 603}})).execution.status is ExecutionStatus.DONE


async def test_questions_and_calls_are_no_steps(store: Store) -> None:
    document = drawing(
        START,
        node("l", "loop", maxIterations=4),
        node("a", "agent", beforePrompt="What?", afterPrompt="Shorter."),
        ways=["start > l", "l:loop-start > a > @loop-back l"],
        maxSteps=10,
    )
    found = await ran(store, document)
    assert found.execution.status is ExecutionStatus.DONE, found.execution.error
    assert found.visited("a") == 4


async def test_a_circle_without_a_bound_still_ends_at_the_visits(store: Store) -> None:
    document = drawing(
        START,
        node("l", "loop", maxIterations=2),
        pause("a"),
        ways=["start > l", "l:loop-start > a > @loop-back l", "l:loop-exit > l"],
        maxVisits=5,
    )
    found = await ran(store, document)
    assert found.execution.error == "The run visited “l” more than 5 times."
    assert found.visited("a") == 10


async def test_a_model_may_end_a_loop(store: Store) -> None:
    data = {"maxIterations": 9, "condition": "it is short", "conditionMode": "llm"}
    found = await ran(store, loop(**data), answers={"Judge whether": ["no", "No.", "yes"]})
    assert found.visited("body") == 3


async def test_a_loop_in_a_loop_begins_anew(store: Store) -> None:
    document = drawing(
        START,
        node("o", "loop", maxIterations=2),
        node("i", "loop", maxIterations=3),
        pause("body"),
        pause("end"),
        ways=[
            "start > o",
            "o:loop-start > i",
            "i:loop-start > body > @loop-back i",
            "i:loop-exit > @loop-back o",
            "o:loop-exit > end",
        ],
    )
    found = await ran(store, document)
    assert (found.visited("body"), found.visited("end")) == (6, 1)


# -- wait and starts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "ms"), [("seconds", 2_000), ("minutes", 120_000)])
async def test_a_wait_is_a_due_time(store: Store, unit: str, ms: int) -> None:
    found = await ran(store, drawing(START, node("w", "wait", amount=2, unit=unit), ways=["start > w"]))
    passed = found.execution.updated_at - found.execution.created_at
    assert ms <= passed < ms + 2_000


async def test_a_trigger_gives_what_came(store: Store) -> None:
    document = drawing(node("t", "trigger", kind="webhook"), pause("a"), ways=["t > a"])
    assert (await ran(store, document, input={"order": 7})).output == {"order": 7}


async def test_a_run_may_begin_in_the_middle(store: Store) -> None:
    document = drawing(START, pause("a"), pause("b"), ways=["start > a > b"])
    found = await ran(store, document, entry="b", input="given")
    assert (found.output, found.order) == ("given", ["b"])


# -- connections without a handle --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unlabelled", "visits"), [("follow", 1), ("skip", 0)])
async def test_connections_without_a_handle_are_followed_where_the_document_says_so(
    store: Store, unlabelled: str, visits: int
) -> None:
    document = drawing(
        START,
        node("c", "condition", rules=TEN),
        pause("a"),
        pause("always"),
        ways=["start > c", "c:condition-true > a", "c > always"],
        unlabelled=unlabelled,
    )
    found = await ran(store, document, input={"total": 11})
    assert (found.visited("a"), found.visited("always")) == (1, visits)


# -- limits ------------------------------------------------------------------------------------------------------------


async def test_a_long_output_is_cut_with_a_note(store: Store) -> None:
    found = await ran(store, drawing(START, pause("a"), ways=["start > a"]), input="x" * 400_000)
    assert found.execution.status is ExecutionStatus.DONE
    assert len(found.output) < 263_000
    assert found.output.endswith("longer than a run may keep]")
    assert max(len(each.content) for each in found.log) < 21_000
