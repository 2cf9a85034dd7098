"""Every rule of documents is broken once, and allowed documents have no problems."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.workflows.document.model import normalise
from arvis.workflows.validation.check import KnownNames, check, errors
from arvis.workflows.validation.rules import RULES, Severity, problem
from tests.unit.workflow_cases import CASES, KNOWN, deep, drawn

_TWO: dict[str, Any] = {"conditions": [{"value": "x"}, {"value": "y"}]}
_ON: dict[str, Any] = {"tools": {"subagents": True}}


def codes(document: dict[str, Any], known: KnownNames | None = None) -> list[str]:
    return [each.rule for each in check(normalise(document), known)]


def test_every_rule_has_a_case() -> None:
    assert list(dict.fromkeys(code for code, _, _ in CASES)) == list(RULES)


@pytest.mark.parametrize(("code", "document", "place"), CASES, ids=[case[0] for case in CASES])
def test_a_rule_is_broken(
    code: str, document: dict[str, Any], place: tuple[str | None, str | None, str | None]
) -> None:
    problems = check(document, KNOWN)
    found = [each for each in problems if each.rule == code]
    assert [(each.node, each.connection, each.field) for each in found][:1] == [place]
    assert "{" not in found[0].message + found[0].fix
    assert found[0].severity is RULES[code].severity
    assert errors(problems) == [each for each in problems if each.severity is not Severity.WARNING]


@pytest.mark.parametrize(
    "document",
    [
        drawn("s:start a:agent", "s>a"),
        drawn("s:start t:trigger a:agent", "s>a", "t>a", data={"t": {"kind": "manual"}}),
        # Cycles that contain a node with a choice.
        drawn("s:start a:agent i:if", "s>a", "a>i", "i/condition-0>a", data={"i": _TWO}),
        # Only one branch of a condition, and only one of an approval.
        drawn("s:start i:if a:agent p:approval b:agent", "s>i", "i/false>a", "a>p", "p/approve>b", data={"i": _TWO}),
        # Nested subagents.
        drawn("s:start a:agent b:agent c:agent", "s>a", "a/subagent>b", "b/subagent>c", data={"a": _ON, "b": _ON}),
        drawn("s:start l:loop a:agent b:agent", "s>l", "l/loop-start>a", "a>l/loop-back", "l/loop-exit>b"),
        drawn("s:start a:agent b:agent c:agent", "s>a", "s>b", "a>c", "b>c", data={"c": {"join": "n", "joinCount": 2}}),
        # The setting for connections without a handle.
        drawn("s:start i:if a:agent", "s>i", "i>a", settings={"unlabelled": "follow"}, data={"i": _TWO}),
        # A join for all branches on a cycle waits only for the branches of its own cycle.
        drawn("s:start a:agent i:if", "s>a", "a>i", "i/false>a", data={"a": {"join": "all"}, "i": _TWO}),
        # Empty fields count as absent.
        drawn("s:start a:agent", "s>a", data={"a": {"agent": "", "model": None, "reasoningEffort": "", "join": ""}}),
    ],
)
def test_nothing_is_wrong_with(document: dict[str, Any]) -> None:
    assert codes(document, KnownNames(agents=(), tools=(), workflows=())) == []


def test_labels_with_points_are_found() -> None:
    data = {"a": {"agentName": "v1.2"}, "b": {"userPrompt": "{{v1.2.result.x}} {{trigger}} {{PREVIOUS_OUTPUT}} {{b}}"}}
    assert codes(drawn("s:start a:agent b:agent", "s>a", "a>b", data=data)) == []


def test_names_in_arguments_and_rules_are_templates_too() -> None:
    data: dict[str, Any] = {"a": {"tool": "t", "arguments": {"q": ["{{No}}"]}}, "b": {"rules": [{"value": "{{No}}"}]}}
    found = check(drawn("s:start a:tool-call b:condition", "s>a", "a>b", "b/condition-true>a", data=data))
    assert [(each.node, each.field) for each in found] == [("a", "arguments"), ("b", "rules.0.value")]


def test_a_subagent_that_also_has_an_execution_edge_is_rejected() -> None:
    document = drawn("s:start a:agent b:agent", "s>a", "a/subagent>b", "b>a", data={"a": _ON})
    assert "subagent-flow" in codes(document)
    assert errors(check(document))


def test_the_path_of_a_circle_is_told() -> None:
    document = drawn("s:start a:agent b:agent c:agent", "s>a", "a>b", "b>c", "c>a", "c>c")
    assert "a → b → c → a" in check(document)[0].message


def test_rows_are_told_with_their_place() -> None:
    data = {"a": {"conditions": [{"operator": "like", "value": 3}, 4]}}
    found = check(drawn("s:start a:if", "s>a", "a/condition-0>a", data=data))
    assert [each.field for each in found] == ["conditions.0.operator", "conditions.0.value", "conditions.1"]


def test_a_join_that_gets_enough_by_another_is_not_starved() -> None:
    data: dict[str, Any] = {"b": {"join": "n", "joinCount": 2}, "c": {"join": "n", "joinCount": 2}}
    ways = ("s>a", "s>b", "a>b", "b>c", "a>c")
    assert codes(drawn("s:start a:agent b:agent c:agent", *ways, data=data)) == []
    more = {**data, "b": {"join": "n", "joinCount": 3}}
    found = check(drawn("s:start a:agent b:agent c:agent", *ways, "c>b", data=more))
    assert [each.rule for each in found] == ["cycle-unbounded", "join-starved"]
    assert found[1].message == "Too few branches can arrive at: b, c."


def test_joins_behind_a_choice_are_not_judged() -> None:
    data: dict[str, Any] = {"a": {"join": "all"}, "b": {"join": "all"}, "i": _TWO}
    ways = ("s>i", "i/condition-0>a", "i/condition-1>b", "a>b", "b>a")
    assert codes(drawn("s:start i:if a:agent b:agent", *ways, data=data)) == ["cycle-unbounded"]


def test_transfers_behind_the_merge_and_the_exit_are_allowed() -> None:
    ways = ("s>p", "p>q", "q>m", "m>n", "p>n", "n>t")
    document = drawn("s:start p:parallel q:parallel m:merge n:merge t:transfer", *ways, data={"t": {"workflow": "w"}})
    assert codes(document) == []
    document["connections"][-1]["source"] = "m"
    found = check(document)
    assert [(each.rule, each.message) for each in found] == [
        ("transfer-in-parallel", "The transfer `t` ends the run, so it must not be in a branch of the parallel `p`.")
    ]


def test_words_are_filled_once_and_cut() -> None:
    found = problem("type-unknown", node="a", name="{type}", type="x" * 80)
    assert found.message == f"The node `{{type}}` has the unknown kind `{'x' * 59}…`: runs skip it."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8), inside, max_size=4),
    max_leaves=12,
)
_NAMES = st.sampled_from(["a", "b", "s", "", "a b", None, 3])
_TYPES = ["start", "trigger", "agent", "if", "input", "loop", "parallel", "merge", "transfer", "workflow", "router", 4]
_DATA = st.dictionaries(
    st.sampled_from(["conditions", "condition", "routes", "rules", "tools", "join", "joinCount", "subtype", "config"]),
    JSON | st.sampled_from(["n", "all", "agent", "sulla-desktop", 2, 2.0]),
    max_size=5,
)
_NODE = st.fixed_dictionaries(
    {"id": _NAMES, "type": st.sampled_from(_TYPES)},
    optional={"x": JSON, "position": JSON, "data": _DATA | JSON, "label": JSON},
)
_HANDLES = st.sampled_from(["", "subagent", "true", "output", "loop-back", "loop-start", "condition-0", None, 5])
_CONNECTION = st.fixed_dictionaries(
    {"source": _NAMES, "target": _NAMES}, optional={"id": _NAMES, "sourceHandle": _HANDLES, "targetHandle": _HANDLES}
)
_DOCUMENTS = st.fixed_dictionaries(
    {"nodes": st.lists(_NODE | JSON, max_size=6) | JSON},
    optional={
        "connections": st.lists(_CONNECTION | JSON, max_size=8) | JSON,
        "edges": st.lists(_CONNECTION | JSON, max_size=8) | JSON,
        "settings": JSON,
        "schema": JSON,
    },
)


@settings(max_examples=300)
@given(raw=_DOCUMENTS | JSON)
def test_whatever_it_is_it_is_normalised_once_and_checked(raw: Any) -> None:
    once = normalise(raw)
    assert repr(normalise(once)) == repr(once)
    found = check(once, KNOWN)
    assert found == check(once, KNOWN)
    assert all(each.rule in RULES for each in found)


def test_what_is_very_deep_is_told_and_not_followed() -> None:
    assert codes(drawn("s:start a:agent", "s>a", data={"a": {"more": deep(100_000)}})) == ["too-deep"]


@pytest.mark.parametrize(
    ("model", "served"),
    [
        ("openai/served", True),
        ("openai/other", False),
        ("anthropic/whatever", True),
        ("claude-new", True),
        ("custom/own", False),
    ],
)
def test_a_model_is_served_by_its_name_or_by_its_provider(model: str, served: bool) -> None:
    document = drawn("s:start a:agent", "s>a", data={"a": {"model": model}})
    known = KnownNames(models={"openai/served", "anthropic/*"})
    assert codes(document, known) == ([] if served else ["model-unknown"])
    assert codes(document) == []


@pytest.mark.parametrize("kind", ["message", "chat-app", "dashboard", "chat-completions", "manual", "schedule"])
def test_triggers_that_something_begins_are_in_order(kind: str) -> None:
    document = drawn("t:trigger a:agent", "t>a", data={"t": {"kind": kind}})
    assert codes(document, KnownNames(begun={"schedule"})) == []


@pytest.mark.parametrize("shape", [{"maxIterations": 249}, {"maxIterations": 300, "settings": {"maxSteps": 1_200}}])
def test_a_loop_within_the_steps_is_in_order(shape: dict[str, Any]) -> None:
    ways = ("s>l", "l/loop-start>a", "a>b", "b>c", "c>l/loop-back")
    settings = shape.pop("settings", {})
    document = drawn("s:start l:loop a:wait b:wait c:wait", *ways, data={"l": shape}, settings=settings)
    for id_ in "abc":
        next(node for node in document["nodes"] if node["id"] == id_)["data"] = {"amount": 0}
    assert codes(document) == []
    document["settings"]["maxSteps"] = 900
    assert codes(document) == ["loop-over-steps"]
