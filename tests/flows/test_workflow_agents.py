"""The agent node of workflows: its prompts, its steps, and the replies that count as failures (seed 002)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.flows.drawn_kit import START, drawing, last_words, node, ran, saying
from tests.flows.scripted import asking, call


def single(**data: Any) -> dict[str, Any]:
    return drawing(START, node("a", "agent", "Writer", **data), ways=["start > a"])


async def test_the_task_is_the_prompt_with_its_templates_else_what_came(store: Store) -> None:
    found = await ran(store, single(userPrompt="Say {{PREVIOUS_OUTPUT}} to {{trigger}}"), input="Ann")
    assert found.output == "Say Ann to Ann"
    assert (await ran(store, single(userPrompt="  "), input="as it is")).output == "as it is"


async def test_instructions_model_and_tools_reach_the_call(store: Store) -> None:
    document = single(systemPrompt="Be a pirate.", model="scripted/other", allowTools=["look"])
    found = await ran(store, document, agent_tools=("look", "pay"))
    (request,) = found.stage.running.model.asked
    assert "Be a pirate." in request.system + request.changing
    assert request.model == "other"
    assert [tool.name for tool in request.tools] == ["look"]


async def test_a_node_gives_no_tool_that_the_agent_does_not_have(store: Store) -> None:
    found = await ran(store, single(allowTools=["pay", "rm"]), agent_tools=("look",))
    assert found.stage.running.model.asked[0].tools == ()


async def test_after_an_approval_the_newest_text_is_the_task(store: Store) -> None:
    document = drawing(
        START,
        node("a", "agent", "A", userPrompt="the draft"),
        node("ok", "approval", prompt="Good?"),
        node("b", "agent", "B"),
        node("c", "agent", "C", userPrompt="Print {{PREVIOUS_OUTPUT}}"),
        ways=["start > a > ok", "ok:approve > b > c"],
    )
    found = await ran(store, document, people=saying(Good="approve"))
    assert (found.of("b"), found.output) == ("the draft", "Print the draft")


async def test_the_first_question_its_answer_the_task_and_what_is_made_of_it(store: Store) -> None:
    document = single(beforePrompt="Which words?", userPrompt="Write.", afterPrompt="Shorten it.")
    answers = {"Which": "short ones", "Write": "a long text", "Shorten": "a text"}
    found = await ran(store, document, answers=answers)
    assert found.output == "a text"
    asked = [
        [turn.content.rpartition("]: ")[2] or turn.content for turn in each.turns]
        for each in found.stage.running.model.asked
    ]
    assert [len(each) for each in asked] == [1, 3, 5]
    assert "short ones" in asked[1][1]
    assert "a long text" in asked[2][3]


async def test_what_falls_short_is_tried_once_more_with_the_reason(store: Store) -> None:
    document = single(userPrompt="Write.", successCriteria="It rhymes.")
    answers = {"Judge": ["RETRY: no rhyme", "APPROVED"], "does not meet the criteria": "second", "Write": "first"}
    found = await ran(store, document, answers=answers)
    assert found.output == "second"
    retry = next(
        last_words(each) for each in found.stage.running.model.asked if "does not meet the criteria" in last_words(each)
    )
    assert "no rhyme" in retry
    assert found.lines("a", "warning") == []


@pytest.mark.parametrize("said", ["RETRY: still none", "I cannot say."])
async def test_what_falls_short_twice_goes_on_with_a_warning(store: Store, said: str) -> None:
    answers = {"Judge": said, "does not meet the criteria": "second", "Write": "first"}
    found = await ran(store, single(userPrompt="Write.", successCriteria="It rhymes."), answers=answers)
    assert found.output == ("second" if said.startswith("RETRY") else "first")
    assert len(found.lines("a", "warning")) == 1
    assert len(found.stage.running.model.asked) == (4 if said.startswith("RETRY") else 2)


async def test_a_search_of_the_web_without_a_tool_for_it_is_warned_of_once(store: Store) -> None:
    searching = {"tools": {"web_search": True}, "userPrompt": "Find it."}
    document = drawing(START, node("a", "agent", **searching), node("b", "agent", **searching), ways=["start > a > b"])
    found = await ran(store, document)
    (warning,) = [each.content for each in found.log if each.type == "warning"]
    assert warning == "Worker should search the web, but has no tool for that: give the agent the tool web_search."
    able = await ran(store, document, agent_tools=("look", "web_search"))
    assert [each for each in able.log if each.type == "warning"] == []


async def test_a_hand_back_is_read(store: Store) -> None:
    block = "**HAND_BACK**\nSummary: All is\nwell.\nArtifact: out/a.txt\nNeeds user input: yes\nSuggested next action: ask Ann"
    found = await ran(
        store, single(userPrompt="Write.", completionContract=True), answers={"Write": f"A text.\n\n{block}"}
    )
    assert found.output == {
        "summary": "All is\nwell.",
        "artifact": "out/a.txt",
        "needs_user_input": True,
        "next_action": "ask Ann",
        "result": "A text.",
    }
    assert "HAND_BACK" in found.stage.running.model.asked[0].system + found.stage.running.model.asked[0].changing


async def test_without_a_hand_back_the_beginning_is_the_summary(store: Store) -> None:
    found = await ran(store, single(userPrompt="Write.", completionContract=True), answers={"Write": "x" * 600})
    assert (found.output["summary"], found.output["result"]) == ("x" * 500, "x" * 600)


async def test_who_is_blocked_says_so_and_the_run_goes_on(store: Store) -> None:
    inner = "<BLOCKER_REASON>no key</BLOCKER_REASON><UNBLOCK_REQUIREMENTS>a key</UNBLOCK_REQUIREMENTS>"
    answers = {"Write": f"<AGENT_BLOCKED>{inner}</AGENT_BLOCKED>"}
    found = await ran(store, single(userPrompt="Write.", successCriteria="any"), answers=answers)
    assert found.output == "[BLOCKED] no key | Requirements: a key"
    assert len(found.stage.running.model.asked) == 1


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   ",
        "API Error: 529 overloaded",
        '{"type":"error","error":{"type":"overloaded_error"}}',
        "Error code: 500 - internal",
        "Credit balance is too low",
        ProviderError(ProviderErrorKind.AUTH, "the key is refused"),
    ],
)
async def test_no_answer_and_words_of_a_failed_provider_fail_the_run(store: Store, said: Any) -> None:
    found = await ran(store, single(userPrompt="Write."), answers={"Write": said})
    assert found.execution.status is ExecutionStatus.FAILED
    assert len(found.lines("a", "llm_error")) == 1
    assert found.lines("a", "error") == []
    assert found.log[-1].type == "run_end"


async def test_words_about_errors_are_words(store: Store) -> None:
    said = "The API error that you saw was the quota: it was exceeded."
    assert (await ran(store, single(userPrompt="Write."), answers={"Write": said})).output == said


async def test_tools_are_used_within_the_node(store: Store) -> None:
    answers = {"Look": asking(call(1, "look", words="garden"))}
    found = await ran(store, single(userPrompt="Look."), answers=answers)
    assert found.output == "Made of: look of garden"
    assert found.stage.running.tools.look.calls == [{"words": "garden"}]
    (called,) = found.lines("a", "tool_call")
    assert json.loads(called)["tool"] == "look"
    assert found.lines("a", "tool_result") == ["look of garden"]
    assert "tools" in found.execution.state["taint"]


async def test_the_effort_of_a_node_reaches_its_model(store: Store) -> None:
    document = drawing(
        START, node("a", "agent", "A", reasoningEffort="low"), node("b", "agent", "B"), ways=["start > a > b"]
    )
    found = await ran(store, document)
    assert [each.effort for each in found.stage.running.model.asked] == ["low", None]
    assert [each.content for each in found.log if each.type == "warning"] == []


SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


async def test_an_output_in_a_format_is_json_for_later_nodes(store: Store) -> None:
    document = drawing(
        START,
        node("a", "agent", "A", userPrompt="Write.", outputSchema=SCHEMA, completionContract=True),
        node("b", "agent", "B", userPrompt="Age {{A.age}}."),
        ways=["start > a > b"],
    )
    found = await ran(
        store, document, answers={"Write": ['{"age": "ten"}', '{"age": 10}'], "is not valid": '{"age": 10}'}
    )
    assert any("Age 10." in last_words(each) for each in found.stage.running.model.asked)
    assert "HAND_BACK" not in found.stage.running.model.asked[0].system


async def test_an_output_that_stays_in_another_format_fails_the_node(store: Store) -> None:
    found = await ran(
        store, single(userPrompt="Write.", outputSchema=SCHEMA), answers={"Write": "ten", "is not valid": "10"}
    )
    assert found.execution.status is ExecutionStatus.FAILED
    assert "does not have the requested format" in (found.execution.error or "")


async def test_an_agent_that_is_out_of_reach_is_not_reached_by_a_drawing(store: Store) -> None:
    found = await ran(store, single(agent="nobody"))
    assert found.execution.status is ExecutionStatus.FAILED
    assert "There is no agent nobody" in (found.execution.error or "")
