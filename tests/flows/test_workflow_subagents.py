"""Subagents: agents as tools of an agent node, nested, shown in the run's log, and never called twice (seed 002)."""

from __future__ import annotations

import json
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from arvis.turns.cancellation import cancel_turn
from tests.flows.drawn_kit import START, AskedModel, Play, Played, WorkflowStage, drawing, node, ran
from tests.flows.engine_kit import Death, deaths, family
from tests.flows.scripted import asking, call
from tests.flows.turn_kit import outlive

ON = {"subagents": True}


def tree(**more: Any) -> dict[str, Any]:
    """Return a drawing with a chain of three subagents below an agent, and a fourth beside the first."""
    return drawing(
        START,
        node("boss", "agent", "Boss", userPrompt="Lead.", tools=ON),
        node("N-1", "agent", agentName="Müller & Co", userPrompt="Middle: {{PREVIOUS_OUTPUT}}", tools=ON),
        node("n2", "agent", agentName="Deep", systemPrompt="You dig.", tools=ON),
        node("n3", "agent", agentName="Last", userPrompt="Bottom:", **more),
        node("n4", "agent", agentName="Side", userPrompt="Side: {{PREVIOUS_OUTPUT}}"),
        ways=["start > boss", "boss:subagent > N-1", "boss:subagent > n4", "N-1:subagent > n2", "n2:subagent > n3"],
    )


M, D, L, S = "subagent_m_ller___co_n_1", "subagent_deep_n2", "subagent_last_n3", "subagent_side_n4"
ANSWERS: dict[str, Any] = {
    "Lead.": asking(call(1, M, task="one"), call(2, S, task="four")),
    "Middle: one": asking(call(1, D, task="two")),
    "Bottom:": "found it",
    "Side: four": "beside",
    "two": asking(call(1, L, task="three")),
}


async def survived(store: Store, *cuts: Death) -> tuple[Played, int]:
    """Return a run of the tree after these deaths, and the number of writes of its last process."""
    stage = WorkflowStage(store, Play(tree(), ANSWERS))
    _, writes = await outlive(stage, cuts)
    return Played(stage, await stage.execution(), await stage.log()), writes


def events(found: Played) -> list[dict[str, Any]]:
    return [json.loads(each.content) for each in found.log if each.type.startswith("subagent")]


async def test_a_tree_of_subagents_answers_and_tells_of_every_call(store: Store) -> None:
    found = await ran(store, tree(), answers=ANSWERS)
    assert "found it" in found.output
    assert "beside" in found.output
    told = events(found)
    assert [(each["type"].removeprefix("subagent_call_"), each["subagentNodeId"], each["depth"]) for each in told] == [
        ("start", "N-1", 1),
        ("start", "n2", 2),
        ("start", "n3", 3),
        ("end", "n3", 3),
        ("end", "n2", 2),
        ("end", "N-1", 1),
        ("start", "n4", 1),
        ("end", "n4", 1),
    ]
    first, second, third = told[:3]
    assert (first["parentCallId"], second["parentCallId"], third["parentCallId"]) == (
        None,
        first["callId"],
        second["callId"],
    )
    assert (third["parentNodeId"], third["subagentName"], third["message"]) == ("n2", "Last", "three")
    assert told[3]["message"] == "found it"
    assert len({each["callId"] for each in told}) == 4


async def test_the_model_is_told_what_a_subagent_does_and_has(store: Store) -> None:
    document = drawing(
        START,
        node("a", "agent", "A", userPrompt="Go.", tools=ON),
        node("b", "agent", agentName="B", userPrompt="Look at {{PREVIOUS_OUTPUT}} " + "x" * 300, tools=ON),
        *(node(f"c{number}", "agent", agentName=f"C{number}") for number in range(6)),
        ways=["start > a", "a:subagent > b", *(f"b:subagent > c{number}" for number in range(6))],
    )
    found = await ran(store, document, agent_tools=("look", "pay", "rm", "vault", "srv.dig"))
    tool = next(each for each in found.stage.running.model.asked[0].tools if each.name == "subagent_b_b")
    assert "Look at (the task) xxx" in tool.description
    assert "xxx…" in tool.description
    assert "look, pay, rm, vault, +1" in tool.description
    assert "C0, C1, C2, C3, +2" in tool.description
    assert list(tool.parameters["properties"]) == ["task"]


async def test_instructions_and_tools_are_the_subagents_own(store: Store) -> None:
    found = await ran(store, tree(allowTools=["look"]), answers=ANSWERS, agent_tools=("look", "pay"))
    by = {request.turns[0].content.rpartition("]: ")[2] or "": request for request in found.stage.running.model.asked}
    deep = next(request for words, request in by.items() if words.endswith("two"))
    last = next(request for words, request in by.items() if "Bottom" in words)
    assert "You dig." in deep.system + deep.changing
    assert [tool.name for tool in last.tools] == ["look"]
    assert "Bottom:\n\nthree" in last.turns[0].content.replace("\n  ", "\n")


async def test_a_subagent_that_fails_is_a_call_that_failed(store: Store) -> None:
    answers = {**ANSWERS, "Bottom:": ProviderError(ProviderErrorKind.AUTH, "the key is refused")}
    found = await ran(store, tree(), answers=answers)
    assert found.execution.status is ExecutionStatus.DONE
    told = events(found)
    assert [each["subagentNodeId"] for each in told if each["type"] == "subagent_call_error"] == ["n3"]


async def test_wrong_arguments_begin_nobody(store: Store) -> None:
    answers = {"Lead.": asking(call(1, S, job="four"), call(2, S, task=" "))}
    found = await ran(store, tree(), answers=answers)
    assert events(found) == []
    assert "Give only `task`" in found.output


async def test_the_third_identical_call_is_not_made(store: Store) -> None:
    again = asking(*(call(number, S, task="four") for number in range(5)))
    found = await ran(store, tree(), answers={**ANSWERS, "Lead.": again})
    assert len([each for each in events(found) if each["type"] == "subagent_call_start"]) == 2


async def test_open_calls_are_closed_when_the_run_is_cancelled(store: Store) -> None:
    play = Play(tree(), ANSWERS)
    stage = WorkflowStage(store, play)
    await stage.begin()
    asked = AskedModel.stream

    async def stream(self: AskedModel, request: Any, account: Any, on_text: Any) -> Any:
        if "Bottom" in request.turns[-1].content:
            await store.write(cancel_turn, stage.execution_id, "Ann", 0)
        return await asked(self, request, account, on_text)

    play.model.stream = stream.__get__(play.model)  # type: ignore[method-assign]
    await stage.play()
    found = Played(stage, await stage.execution(), await stage.log())
    assert found.execution.status is ExecutionStatus.CANCELLED
    errors = [each["subagentNodeId"] for each in events(found) if each["type"] == "subagent_call_error"]
    assert errors == ["n3", "n2", "N-1"]
    assert found.log[-1].type == "run_end"


async def test_open_calls_are_closed_when_another_branch_fails(store: Store) -> None:
    """The deepest subagent waits for a person when the branch fails."""
    document = tree()
    document["nodes"] += [node("w", "wait", amount=60), node("bad", "agent", agent="nobody")]
    document["connections"] += [
        {"id": "x1", "source": "start", "target": "w", "sourceHandle": "", "targetHandle": ""},
        {"id": "x2", "source": "w", "target": "bad", "sourceHandle": "", "targetHandle": ""},
    ]
    answers = {**ANSWERS, "Bottom:": asking(call(1, "rm", words="all"))}
    found = await ran(store, document, answers=answers, agent_tools=("rm",))
    assert found.execution.status is ExecutionStatus.FAILED
    errors = [each["subagentNodeId"] for each in events(found) if each["type"] == "subagent_call_error"]
    assert errors == ["n3", "n2", "N-1"]
    assert found.log[-1].type == "run_end"


async def test_a_cut_at_every_commit_asks_nobody_twice_who_has_answered(store: Store) -> None:
    whole, writes = await survived(store)
    expected = [{**each, "callId": "", "parentCallId": ""} for each in events(whole)]
    needed = len(whole.stage.running.model.asked)
    for death in deaths(writes):
        found, _ = await survived(store, death)
        assert found.output == whole.output, death
        assert [{**each, "callId": "", "parentCallId": ""} for each in events(found)] == expected, death
        assert len(found.stage.running.model.asked) <= needed + 1, death
        children = await store.read(family, found.execution.id)
        assert len(children) == 6, death


async def test_a_subagent_that_is_also_a_step_is_refused_before_the_run(store: Store) -> None:
    """The run fails at its start, since a row may hold any document."""
    document = tree()
    document["connections"].append(
        {"id": "x", "source": "boss", "target": "n4", "sourceHandle": "", "targetHandle": ""}
    )
    found = await ran(store, document, answers=ANSWERS)
    assert found.execution.status is ExecutionStatus.FAILED
    assert "subagent" in (found.execution.error or "")
    assert found.stage.running.model.asked == []
