"""Nodes that call tools, run other workflows, or transfer the run to another workflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from arvis.domain.errors import ToolError
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.tools import Permit
from arvis.domain.workflows import PREFIX
from arvis.ports.store import Store
from tests.flows.drawn_kit import START, Play, Played, WorkflowStage, drawing, last_words, node, ran, saying
from tests.flows.engine_kit import Cut, deaths, family
from tests.flows.turn_kit import outlive

# -- tools -------------------------------------------------------------------------------------------------------------


def tool(name: str = "look", **data: Any) -> dict[str, Any]:
    return drawing(
        START, node("t", "tool-call", tool=name, **{"arguments": {"words": "{{trigger}}"}, **data}), ways=["start > t"]
    )


async def test_a_tool_is_called_with_filled_arguments_and_without_a_model(store: Store) -> None:
    found = await ran(store, tool(), input="garden")
    assert found.output == "look of garden"
    assert found.stage.running.model.asked == []
    assert found.lines("t", "tool_result") == ["look of garden"]
    assert "tools" in found.execution.state["taint"]


async def test_a_tool_that_the_agent_does_not_have_fails_the_run(store: Store) -> None:
    found = await ran(store, tool("pay"))
    assert "There is no tool pay" in (found.execution.error or "")


@pytest.mark.parametrize("arguments", [{"colour": "red"}, {"words": "a", "more": 1}])
async def test_arguments_that_do_not_fit_fail_the_run(store: Store, arguments: dict[str, Any]) -> None:
    found = await ran(store, tool(arguments=arguments))
    assert "are not valid" in (found.execution.error or "")
    assert found.stage.running.tools.look.calls == []


async def test_a_tool_that_must_never_run_does_not(store: Store) -> None:
    found = await ran(store, tool(), permits={"look": Permit.NEVER})
    assert "is not allowed here" in (found.execution.error or "")


@pytest.mark.parametrize(("said", "calls"), [("approve", 1), ("reject", 0)])
async def test_a_risky_tool_waits_for_a_person(store: Store, said: str, calls: int) -> None:
    found = await ran(store, tool("rm"), agent_tools=("rm",), people=saying(rm=said), input="attic")
    assert len(found.stage.running.tools.rm.calls) == calls
    assert found.execution.status is (ExecutionStatus.DONE if calls else ExecutionStatus.FAILED)
    (asked,) = found.lines("t", "wait_input")
    assert 'words: "attic"' in asked


async def test_secrets_do_not_come_into_a_run(store: Store) -> None:
    found = await ran(store, tool("vault"), agent_tools=("vault",), permits={"vault": Permit.ALWAYS})
    assert "secrets" in (found.execution.error or "")
    assert found.stage.running.tools.vault.calls == []


async def test_a_tool_that_fails_fails_the_run(store: Store) -> None:
    play = Play(tool())
    play.tools.look.script.append(ToolError("It is dark."))
    stage = WorkflowStage(store, play)
    await stage.begin()
    await stage.play()
    assert "It is dark." in ((await stage.execution()).error or "")


@pytest.mark.parametrize(
    ("said", "words", "warnings"),
    [('Better:\n```json\n{"words": "cellar"}\n```', "cellar", 0), ("OK.", "attic", 0), ("Looks fine", "attic", 1)],
)
async def test_an_agent_may_change_the_arguments_before(store: Store, said: str, words: str, warnings: int) -> None:
    found = await ran(store, tool(review="Is it safe?"), answers={"about to be called with": said}, input="attic")
    assert found.stage.running.tools.look.calls == [{"words": words}]
    assert len(found.lines("t", "warning")) == warnings


async def test_a_call_that_must_not_be_repeated_is_made_once_whatever_is_cut(store: Store) -> None:
    def play() -> Play:
        return Play(
            tool("pay"), agent_tools=("pay",), permits={"pay": Permit.ALWAYS}, input="once", people=saying(pay="skip")
        )

    stage = WorkflowStage(store, play())
    _, writes = await outlive(stage, ())
    for death in deaths(writes):
        each = play()
        stage = WorkflowStage(store, each)
        await stage.begin()
        with pytest.raises(Cut):
            await stage.play(death)
        await stage.play()
        assert len(each.tools.pay.calls) <= 1, death


# -- called workflows --------------------------------------------------------------------------------------------------


def main(play_mark: str, **data: Any) -> dict[str, Any]:
    return drawing(
        START,
        node("sub", "sub-workflow", "Sub", workflow=f"below-{play_mark}", **data),
        node("end", "agent", "End", userPrompt="Got {{PREVIOUS_OUTPUT}}"),
        ways=["start > sub > end"],
    )


def calling(below: dict[str, Any], **data: Any) -> Play:
    play = Play({}, others={"below": below})
    play.document = main(play.mark, **data)
    return play


async def through(store: Store, play: Play) -> Played:
    stage = WorkflowStage(store, play)
    await stage.begin()
    await stage.play()
    return Played(stage, await stage.execution(), await stage.log())


async def children(store: Store, run: Execution) -> list[Execution]:
    found = await store.read(lambda tx: tx.executions.children_of(run.id))
    return [each for each in found if each.graph.startswith(PREFIX)]


BELOW = drawing(START, node("x", "agent", "X", userPrompt="Below: {{trigger}}"), ways=["start > x"])


async def test_a_workflow_below_is_a_run_with_a_log_of_its_own(store: Store) -> None:
    found = await through(store, calling(BELOW, input="do {{PREVIOUS_OUTPUT}}"))
    assert found.output == "Got Below: do hello"
    (child,) = await children(store, found.execution)
    row = await store.read(lambda tx: tx.workflow_runs.get(child.id))
    assert row is not None
    assert row.source == f"workflow:{found.execution.id}"
    log = await store.read(lambda tx: tx.workflow_runs.entries(child.id, 0, 100))
    assert log[-1].type == "run_end"


async def test_a_workflow_below_that_fails_fails_the_node(store: Store) -> None:
    bad = drawing(START, node("x", "agent", "X", agent="nobody"), ways=["start > x"])
    found = await through(store, calling(bad))
    assert "There is no agent nobody" in (found.execution.error or "")


async def test_what_is_not_waited_for_goes_its_own_way(store: Store) -> None:
    found = await through(store, calling(BELOW, awaitResponse=False))
    assert found.output.startswith("Got")
    assert await children(store, found.execution) == []
    assert sorted(last_words(each) for each in found.stage.running.model.asked) == ["Below: hello", "Got hello"]


async def test_a_workflow_that_calls_itself_ends_with_a_word_about_it(store: Store) -> None:
    play = Play({})
    play.document = drawing(START, node("s", "sub-workflow", "S", workflow=f"main-{play.mark}"), ways=["start > s"])
    found = await through(store, play)
    assert found.execution.status is ExecutionStatus.FAILED
    assert "more than 8 levels deep" in (found.execution.error or "")
    assert len(await store.read(family, found.execution.id)) == 9


@pytest.mark.parametrize("name", ["nowhere", ""])
async def test_a_workflow_that_is_not_there_fails_the_node(store: Store, name: str) -> None:
    document = drawing(START, node("s", "sub-workflow", "S", workflow=name or "none"), ways=["start > s"])
    error = (await ran(store, document)).execution.error or ""
    assert "There is no workflow" in error
    assert ".." not in error


async def test_a_transfer_ends_the_run_and_those_above_it(store: Store) -> None:
    play = Play({})
    away = drawing(START, node("go", "transfer", "Go", workflow=f"there-{play.mark}"), ways=["start > go"])
    play.others = {"below": away, "there": BELOW}
    play.document = main(play.mark)
    found = await through(store, play)
    assert found.execution.status is ExecutionStatus.DONE
    assert found.execution.result["transferred"]["workflow"] == f"id-there-{play.mark}"
    assert found.log[-1].content == "transferred"
    assert found.visited("end") == 0
    assert [last_words(each) for each in found.stage.running.model.asked] == ["Below: hello"]


class _Garden:
    """Plugins, one of which brings the tool `look`."""

    async def find(self, names: Sequence[str]) -> Sequence[Any]:
        return [self] if "garden" in names else []

    def hints(self, _names: Sequence[str]) -> Sequence[Any]:
        return ()

    async def tools(self) -> Sequence[str]:
        return ("look",)


async def test_a_tool_that_comes_with_a_plugin_of_the_agent_is_called(store: Store) -> None:
    assert "There is no tool look" in ((await ran(store, tool(), agent_tools=())).execution.error or "")
    found = await ran(store, tool(), agent_tools=(), plugins=_Garden(), input="garden")
    assert found.execution.error is None
    assert found.lines("t", "tool_result") == ["look of garden"]
