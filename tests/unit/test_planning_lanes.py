"""Lanes, the evidence of tools, and the total limits of a run."""

from __future__ import annotations

import json

from arvis.domain.messages import PastMessage, Role
from arvis.domain.taint import CLEAN
from arvis.graphs.planning import state
from arvis.graphs.planning.state import (
    KNOWN_RUNS,
    LONGEST_LANE,
    LONGEST_TRANSCRIPT,
    MOST_MESSAGES,
    READINESS_RUNS,
    SNIPPET,
    Bounds,
    Evidence,
    Lane,
    LaneMessage,
    ToolRun,
    Work,
    known_runs,
    readiness,
    seed,
)


def past(role: Role, text: str) -> PastMessage:
    return PastMessage(role=role, content=text, tokens=1)


def run(number: int, *, tool: str = "look", output: str = "x") -> ToolRun:
    return ToolRun(tool, json.dumps({"n": number}), output, failed=False)


def test_a_lane_begins_with_the_talk() -> None:
    lane = seed([past(Role.USER, "hi"), past(Role.ASSISTANT, "hello"), past(Role.USER, "")])
    assert [(each.role, each.text) for each in lane] == [("user", "hi"), ("assistant", "hello")]
    assert [each.text for each in lane.of_assistant()] == ["hello"]


def test_what_is_shared_is_kept_once_each_and_fresh() -> None:
    lane = Lane()
    for kind in (state.ENVIRONMENT, state.MEMORY, state.SKILL, state.BRIEF):
        lane = lane.adding("old", kind).adding("words").adding("new", kind)
    kinds = [each.kind for each in lane if each.kind]
    assert kinds == [state.ENVIRONMENT, state.MEMORY, state.SKILL, state.BRIEF]
    assert all(each.text == "new" for each in lane if each.kind)


def test_feedback_and_evidence_gather() -> None:
    lane = Lane().adding("a", state.FEEDBACK).adding("b", state.FEEDBACK).adding("e", state.EVIDENCE)
    assert [each.text for each in lane] == ["a", "b", "e"]


def test_a_lane_has_a_most_of_messages_and_characters() -> None:
    lane = Lane().adding("where", state.ENVIRONMENT)
    for number in range(300):
        lane = lane.adding(f"message {number}")
    assert len(lane.messages) == MOST_MESSAGES
    assert lane.messages[0].kind == state.ENVIRONMENT
    assert lane.messages[-1].text == "message 299"
    for number in range(30):
        lane = lane.adding(f"{number} {'x' * 9_000}")
    assert sum(len(each.text) for each in lane) <= LONGEST_LANE
    assert lane.messages[0].kind == state.ENVIRONMENT


def test_the_planners_history_is_without_copies_and_echoes() -> None:
    lane = Lane().adding("env", state.ENVIRONMENT).adding("make tea").adding("I looked")
    assert [each.text for each in lane.without_echoes(" make tea ")] == ["I looked"]


def test_a_lane_survives_the_state() -> None:
    lane = Lane((LaneMessage("user", "hi"), LaneMessage("assistant", "x", state.FEEDBACK)))
    assert Lane.from_json(json.loads(json.dumps(lane.to_json()))) == lane


def test_the_last_distinct_tool_runs_are_known() -> None:
    runs = [run(number, output="old") for number in range(30)] + [run(5, output="new")]
    lines = known_runs(runs).splitlines()
    assert len(lines) == KNOWN_RUNS
    assert lines[-1] == '- look {"n": 5} → new'
    assert sum('"n": 5}' in line for line in lines) == 1


def test_readiness_is_of_tools_that_look_or_hand_out_credentials() -> None:
    runs = [run(number, output="y" * 900) for number in range(60)] + [run(1, tool="pay"), run(2, tool="vault")]
    lines = readiness(runs).splitlines()
    assert len(lines) == READINESS_RUNS
    assert not any("pay" in line for line in lines)
    assert lines[-1].startswith("- vault")
    assert all(len(line) <= SNIPPET + 40 for line in lines)


def test_a_transcript_is_of_one_brief_numbered_and_bounded() -> None:
    works = (
        Work("planner", 1, (run(0),)),
        Work("action", 1, ("first",)),
        Work("action", 2, ("I look", *(run(number, output="z" * 5_000) for number in range(60)))),
    )
    evidence = Evidence(works, CLEAN, (), 0)
    assert evidence.transcript(1) == "1. The executor said: first"
    assert len(evidence.transcript(2)) <= LONGEST_TRANSCRIPT + 100
    assert '61. Tool look {"n": 59} gave' in evidence.transcript(2)
    assert evidence.transcript(3) == ""


def test_what_people_take_to_answer_does_not_count() -> None:
    bounds = Bounds(minutes=1)
    assert bounds.over(0, 60_001, 0)
    assert not bounds.over(0, 60_001, 5_000)
    assert not bounds.over(None, 60_001, 0)
