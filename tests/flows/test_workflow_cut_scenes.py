"""Scenes of workflows that are killed before and after each of their commits, on both databases: the same end, every line of the log once
and without gaps, one row for each run, one reply (issue 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arvis.domain.tools import Permit
from arvis.ports.store import Store
from tests.flows.cut_scenes import Told, outlived
from tests.flows.drawn_kit import START, Play, drawing, node, nobody, pause, saying
from tests.flows.engine_kit import deaths
from tests.flows.scripted import asking, call

ON = {"subagents": True}
TOLD = node("begin", "trigger", kind="message", description="Does it.")


def chosen() -> Play:
    """A model says which of two workflows takes a message."""
    takes = drawing(TOLD, node("a", "agent", "A", userPrompt="Work on {{trigger}}"), ways=["begin > a"])
    other = drawing(TOLD, node("b", "agent", "B", userPrompt="Not me"), ways=["begin > b"])
    return Told(
        drawing(START, pause("x"), ways=["start > x"]),
        answers={"none of these": "1"},
        others={"one": takes, "two": other},
    )


def handed_over() -> Play:
    """A message's workflow speaks, and another goes on in its place."""
    play = Told(drawing(START, pause("x"), ways=["start > x"]))
    away = drawing(
        TOLD,
        node("say", "response", "Say", template="On the way with {{trigger}}"),
        node("go", "transfer", "Go", workflow=f"there-{play.mark}"),
        ways=["begin > say > go"],
    )
    there = drawing(START, node("x", "agent", "X", userPrompt="There: {{trigger}}"), ways=["start > x"])
    play.others = {"away": away, "there": there}
    return play


def below() -> Play:
    """One branch calls a workflow that works, another one that fails; the merge hears of both, and the run says so."""
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
    """Subagents of subagents, and tools in the same round."""
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
    """Nobody answers, nor after the owners were told."""
    ask = node("ask", "approval", "Ask", prompt="Really?", deadlineMinutes=1, onExpiry="escalate", escalateMinutes=1)
    document = drawing(
        START, ask, node("no", "agent", "No", userPrompt="Not done"), ways=["start > ask", "ask:reject > no"]
    )
    return Play(document, people=nobody)


def called() -> Play:
    """A tool between two answers of people."""
    document = drawing(
        START,
        node("ask", "user-input", "Ask", prompt="Which?"),
        node("t", "tool-call", tool="look", arguments={"words": "{{PREVIOUS_OUTPUT}}"}),
        node("rm", "tool-call", tool="rm", arguments={"words": "{{PREVIOUS_OUTPUT}}"}),
        ways=["start > ask > t > rm"],
    )
    return Play(document, agent_tools=("look", "rm"), people=saying(Which="this", rm="approve"))


@pytest.mark.parametrize("make", [chosen, handed_over, below, deep, escalated, called], ids=lambda make: make.__name__)
async def test_a_scene_survives_a_cut_at_every_commit(either_store: Store, make: Callable[[], Play]) -> None:
    expected, writes = await outlived(either_store, make())
    print(writes, expected)
    for death in deaths(writes):
        found, _ = await outlived(either_store, make(), death)
        assert found == expected, death
