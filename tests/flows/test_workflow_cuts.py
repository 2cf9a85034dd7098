"""A workflow with two branches, an approval in one, a tree of subagents, a wait and a loop, killed before and after
each of its commits, on both databases: its end is always the same."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Store
from tests.flows.drawn_kit import START, Play, Played, drawing, node, played, saying
from tests.flows.engine_kit import deaths
from tests.flows.scripted import Answer, asking, call

ALL = {"subagents": True}


def whole() -> Play:
    document = drawing(
        START,
        node("p", "parallel"),
        node("draft", "agent", "Draft", userPrompt="Write: {{PREVIOUS_OUTPUT}}", tools=ALL),
        node("find", "agent", "Finder", systemPrompt="Find it.", tools=ALL),
        node("check", "agent", "Checker", systemPrompt="Check it."),
        node("ap", "approval", "Approval", prompt="Send {{Draft}}?"),
        node("w", "wait", "Wait", amount=3),
        node("l", "loop", "Twice", maxIterations=2),
        node("improve", "agent", "Improve", userPrompt="Improve {{PREVIOUS_OUTPUT}}"),
        node("m", "merge", "Together"),
        node("final", "agent", "Final", userPrompt="Sum up {{Draft}} and {{Improve}}"),
        ways=[
            "start > p > draft > ap",
            "ap:approve > m > final",
            "p > w > l",
            "l:loop-start > improve > @loop-back l",
            "l:loop-exit > m",
            "draft:subagent > find",
            "find:subagent > check",
        ],
    )
    answers: dict[str, Answer] = {
        "Write: hello": asking(call(1, "subagent_finder_find", task="find a thing")),
        "find a thing": asking(call(2, "subagent_checker_check", task="check a thing")),
        "check a thing": "checked",
        "Improve hello": "better",
        "Improve better": "best",
        "Sum up": "all in all",
    }
    return Play(document, answers=answers, people=saying(Send="approve"))


async def end_of(found: Played) -> dict[str, Any]:
    """Return everything that must be equal after any cut, and check the counts that must never exceed one."""
    state, execution = found.execution.state, found.execution
    outputs = {name: kept["output"] for name, kept in state.items() if name.startswith("out:")}
    outputs["out:m"] = [outputs["out:m"][0]["decision"], outputs["out:m"][1]]
    outputs["out:ap"] = outputs["out:ap"]["decision"]
    everyone = await found.stage.everyone()
    assert {each.status for each in everyone} == {ExecutionStatus.DONE}
    ended = sorted(each.node_id for each in found.log if each.type == "step_end")
    talked = sorted((each.node_id, each.content) for each in found.log if each.type in {"llm_response", "loop"})
    assert found.log[-1].type == "run_end"
    return {
        "output": found.output,
        "content": execution.result["content"],
        "outputs": outputs,
        "taint": state["taint"],
        "children": len(everyone),
        "ended": ended,
        "talked": talked,
        "ends": [each.type for each in found.log].count("run_end"),
    }


async def test_a_workflow_survives_a_cut_at_every_commit(either_store: Store) -> None:
    found, writes = await played(either_store, whole())
    expected, needed = await end_of(found), len(found.stage.running.model.asked)
    assert expected["outputs"]["out:draft"] == "Made of: Made of: checked"
    assert expected["outputs"]["out:improve"] == "best"
    assert expected["output"] == "all in all"
    for death in deaths(writes, either_store):
        found, _ = await played(either_store, whole(), death)
        assert await end_of(found) == expected, death
        # Each branch repeats at most the one call that ran at the death.
        assert len(found.stage.running.model.asked) <= needed + 2, death
