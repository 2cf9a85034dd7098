"""Scenes of workflows, killed before and after each of their commits, on both databases. The end is always the same,
each log line comes once and without gaps, and there is one row for each run and one reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from arvis.domain.tools import Permit
from arvis.ports.store import Store
from arvis.turns.cancellation import cancel_turn
from tests.flows.cut_scenes import Repeated, Started, Told, outlived, trace
from tests.flows.drawn_kit import START, Play, WorkflowStage, drawing, nobody, node, pause, saying
from tests.flows.engine_kit import deaths
from tests.flows.scripted import Held, asking, call

ON = {"subagents": True}
TOLD = node("begin", "trigger", kind="message", words="MARK", description="Does it.")


def chosen() -> Play:
    """A model chooses which of two workflows takes a message."""
    takes = drawing(TOLD, node("a", "agent", "A", userPrompt="Work on {{trigger}}"), ways=["begin > a"])
    other = drawing(TOLD, node("b", "agent", "B", userPrompt="Not me"), ways=["begin > b"])
    return Told(
        drawing(START, pause("x"), ways=["start > x"]),
        answers={"none of these": "1"},
        others={"one": takes, "two": other},
    )


def handed_over() -> Play:
    """A message's workflow posts a text, then transfers to another workflow."""
    away = drawing(
        TOLD,
        node("say", "response", "Say", template="On the way with {{trigger}}"),
        node("go", "transfer", "Go", workflow="there-MARK"),
        ways=["begin > say > go"],
    )
    there = drawing(START, node("x", "agent", "X", userPrompt="There: {{trigger}}"), ways=["start > x"])
    return Told(drawing(START, pause("x"), ways=["start > x"]), others={"away": away, "there": there})


def below() -> Play:
    """One branch calls a workflow that works, another one a workflow that fails; the merge gets both results, and the
    run reports them."""
    works = drawing(START, node("x", "agent", "X", userPrompt="Below: {{trigger}}"), ways=["start > x"])
    fails = drawing(START, node("x", "agent", "X", agent="nobody"), ways=["start > x"])
    play = Play({}, others={"works": works, "fails": fails})
    play.document = drawing(
        START,
        node("p", "parallel"),
        node("s1", "sub-workflow", "S1", workflow=f"works-{play.mark}"),
        node("s2", "sub-workflow", "S2", workflow=f"fails-{play.mark}"),
        node("m", "merge"),
        node("say", "response", "Say", template="Halfway"),
        node("s3", "sub-workflow", "S3", workflow=f"works-{play.mark}", awaitResponse=False),
        node("end", "agent", "End", userPrompt="End"),
        ways=["start > p > s1 > m > say > s3 > end", "p > s2 > m"],
    )
    return play


def deep() -> Play:
    """Subagents with subagents, and tools in the same round."""
    document = drawing(
        START,
        node("boss", "agent", "Boss", userPrompt="Lead.", tools={**ON, "names": ["look", "dig"]}),
        node("mid", "agent", "Mid", userPrompt="Middle: {{PREVIOUS_OUTPUT}}", tools=ON),
        node("low", "agent", "Low", userPrompt="Bottom:"),
        ways=["start > boss", "boss:subagent > mid", "mid:subagent > low"],
    )
    first = asking(call(1, "subagent_mid_mid", task="one"), call(2, "look", words="a"), call(3, "look", words="b"))
    answers: dict[str, Any] = {
        "Lead.": first,
        "Middle: one": asking(call(1, "subagent_low_low", task="two")),
        "Bottom:": "found",
    }
    return Play(document, answers=answers, permits={"look": Permit.ALWAYS})


def escalated() -> Play:
    """Nobody answers, even after the owners got a notice."""
    ask = node("ask", "approval", "Ask", prompt="Really?", deadlineMinutes=1, onExpiry="escalate", escalateMinutes=1)
    document = drawing(
        START, ask, node("no", "agent", "No", userPrompt="Not done"), ways=["start > ask", "ask:reject > no"]
    )
    return Play(document, people=nobody)


def called() -> Play:
    """A tool call between two answers of people."""
    document = drawing(
        START,
        node("ask", "user-input", "Ask", prompt="Which?"),
        node("t", "tool-call", tool="look", arguments={"words": "{{PREVIOUS_OUTPUT}}"}),
        node("dig", "tool-call", tool="srv.dig", arguments={"words": "{{PREVIOUS_OUTPUT}}"}),
        ways=["start > ask > t > dig"],
    )
    return Play(document, agent_tools=("look", "srv.dig"), people=saying(Which="this", dig="approve"))


def reported() -> Play:
    """An agent started the run and gets its results."""
    return Started(drawing(START, node("a", "agent", "A", userPrompt="Work"), ways=["start > a"]))


def repeated() -> Play:
    """A rerun from a step in the middle, with the output of the step before it."""
    document = drawing(
        START,
        node("a", "agent", "A", userPrompt="First"),
        node("b", "agent", "B", userPrompt="Second of {{PREVIOUS_OUTPUT}} and {{A}}"),
        ways=["start > a > b"],
    )
    return Repeated(document)


SCENES = [chosen, handed_over, below, deep, escalated, called, reported, repeated]


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
async def test_a_scene_survives_a_cut_at_every_commit(either_store: Store, make: Callable[[], Play]) -> None:
    expected, writes = await outlived(either_store, make())
    for death in deaths(writes, either_store):
        found, _ = await outlived(either_store, make(), death)
        assert found == expected, death


def slow() -> tuple[Play, Held]:
    """A tool that runs for a while."""
    held = Held("look of it")
    play = Play(drawing(START, node("t", "tool-call", tool="look", arguments={"words": "x"}), ways=["start > t"]))
    play.tools.look.script.append(held)
    return play, held


async def test_a_daemon_that_is_stopped_in_the_midst_of_a_node_tells_of_it_once(either_store: Store) -> None:
    play, held = slow()
    stage = WorkflowStage(either_store, play)
    await stage.begin()
    walking = asyncio.create_task(stage.walk())
    await held.until_begun()
    walking.cancel()
    await asyncio.wait([walking])
    await stage.play()
    await either_store.read(trace, play)
    assert [each.type for each in await stage.log() if each.node_id == "t"].count("step_start") == 1


async def test_nothing_is_told_behind_the_end_of_a_run(either_store: Store) -> None:
    play, held = slow()
    stage = WorkflowStage(either_store, play)
    await stage.begin()
    walking = asyncio.create_task(stage.walk())
    await held.until_begun()
    await either_store.write(cancel_turn, stage.execution_id, "Ann", 0)
    walking.cancel()
    await asyncio.wait([walking])
    await either_store.read(trace, play)
