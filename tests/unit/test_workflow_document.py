"""Documents in earlier or other formats are converted, and files are read and written."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.domain.errors import TooLarge, Unprocessable
from arvis.workflows.document.kinds import MOST_DEPTH
from arvis.workflows.document.model import DocumentForm, normalise, read, write
from arvis.workflows.document.view import Drawing
from arvis.workflows.validation.check import check
from tests.unit.workflow_cases import deep, drawn

START = {"id": "s", "type": "start", "x": 0, "y": 0, "data": {"initialInput": "x"}}


def node(raw: dict[str, Any]) -> dict[str, Any]:
    (only,) = normalise({"nodes": [raw], "connections": []})["nodes"]
    return dict(only)


def connection(raw: dict[str, Any], *nodes: dict[str, Any]) -> dict[str, Any]:
    (only,) = normalise({"nodes": list(nodes), "connections": [raw]})["connections"]
    return dict(only)


def theirs(id_: str, subtype: str, category: str = "", **config: Any) -> dict[str, Any]:
    data = {"subtype": subtype, "category": category, "label": id_.upper(), "config": config}
    return {"id": id_, "type": "workflow", "position": {"x": 1, "y": 2.0}, "data": data}


# -- documents of an earlier form --------------------------------------------------------------------------------------


def test_a_document_of_the_seed_gets_our_form() -> None:
    raw = {
        "nodes": [START, {"id": "q", "type": "input", "x": 1.0, "y": 2.5}],
        "connections": [{"source": "s", "target": "q", "sourceHandle": "output", "targetHandle": "input"}],
    }
    assert normalise(raw) == {
        "schema": 1,
        "settings": {},
        "nodes": [START, {"id": "q", "type": "approval", "x": 1, "y": 2.5, "data": {}}],
        "connections": [{"id": "c1", "source": "s", "target": "q", "sourceHandle": "", "targetHandle": ""}],
    }


@pytest.mark.parametrize(
    ("old", "rows"),
    [
        ("yes", [{"operator": "contains", "value": "yes"}]),
        ({"operator": "equal", "value": "yes"}, [{"operator": "equal", "value": "yes"}]),
        ({"value": "yes"}, [{"operator": "contains", "value": "yes"}]),
    ],
)
def test_one_condition_becomes_a_row(old: Any, rows: Any) -> None:
    assert node({"id": "i", "type": "if", "data": {"condition": old}})["data"] == {"conditions": rows}


def test_rows_are_not_replaced_by_an_old_condition() -> None:
    data = {"conditions": [{"operator": "equal", "value": "a"}], "condition": "b"}
    assert node({"id": "i", "type": "if", "data": data})["data"] == data
    assert node({"id": "a", "type": "agent", "data": {"condition": "b"}})["data"] == {"condition": "b"}


@pytest.mark.parametrize(
    ("out", "into", "expected"),
    [
        (None, None, ("", "")),
        ("output", "input", ("", "")),
        ("source", "target", ("", "")),
        ("true", "", ("condition-0", "")),
        ("condition-1", "", ("condition-1", "")),
        ("subagent", "subagent-target", ("subagent", "")),
        ("subagent", "input", ("subagent", "")),
        ("", "subagent-target", ("", "subagent-target")),
        ("loop-exit", "loop-back", ("loop-exit", "loop-back")),
    ],
)
def test_handles(out: str | None, into: str | None, expected: tuple[str, str]) -> None:
    raw = {"source": "i", "target": "s", "sourceHandle": out, "targetHandle": into}
    found = connection(raw, START, {"id": "i", "type": "if"})
    assert (found["sourceHandle"], found["targetHandle"]) == expected


def test_true_is_a_condition_of_an_if_only() -> None:
    raw = {"source": "a", "target": "s", "sourceHandle": "true"}
    assert connection(raw, {"id": "a", "type": "agent"})["sourceHandle"] == "true"


def test_connections_get_ids_that_are_free() -> None:
    raw: list[Any] = [{"id": "c2"}, {}, 7, {"id": None}, {"id": "own"}]
    found = normalise({"nodes": [], "connections": raw})["connections"]
    assert [each if isinstance(each, int) else each["id"] for each in found] == ["c2", "c1", 7, "c3", "own"]


def test_what_nobody_knows_is_kept_and_the_given_is_not_changed() -> None:
    raw = {
        "nodes": [{"id": "e", "type": "end", "x": 0, "y": 0, "color": "red", "data": {"a": {"b": 1.5}}}],
        "connections": [{"source": "e", "target": "e", "animated": True}],
        "viewport": {"zoom": 2},
    }
    before = json.dumps(raw)
    found = normalise(raw)
    assert json.dumps(raw) == before
    assert found["viewport"] == {"zoom": 2}
    assert found["nodes"] == raw["nodes"]
    assert found["connections"][0]["animated"] is True


@pytest.mark.parametrize("raw", [None, 3, "x", [], [1], {}, {"nodes": None}, {"nodes": [{"data": 5}], "edges": {}}])
def test_what_cannot_be_read_is_left_for_the_check(raw: Any) -> None:
    found = normalise(raw)
    assert normalise(found) == found
    assert check(found)


# -- playbooks ---------------------------------------------------------------------------------------------------------


#: Nodes of a playbook, and the expected nodes.
PLAYBOOK = [
    (
        theirs("t", "sulla-desktop", "trigger", triggerDescription="d"),
        "trigger",
        {"kind": "dashboard", "description": "d"},
    ),
    (theirs("t", "chat-app"), "trigger", {"kind": "chat-app"}),
    (
        theirs(
            "a", "agent", agentId="x", agentName="N", additionalPrompt="p", userMessage="u", completionContract=True
        ),
        "agent",
        {"agent": "x", "agentName": "N", "systemPrompt": "p", "userPrompt": "u", "completionContract": True},
    ),
    (
        theirs("a", "agent", additionalPrompt="p", completionContract="End with HAND_BACK."),
        "agent",
        {"systemPrompt": "p\n\nEnd with HAND_BACK.", "completionContract": True},
    ),
    (
        theirs(
            "c",
            "tool-call",
            integrationSlug="mail",
            endpointName="send",
            defaults={"to": "x"},
            preCallDescription="r",
        ),
        "tool-call",
        {"arguments": {"to": "x"}, "review": "r", "tool": "mail.send"},
    ),
    (theirs("c", "tool-call", endpointName="send"), "tool-call", {"tool": "send"}),
    (
        theirs("r", "router", classificationPrompt="p", routes=[{"label": "a"}]),
        "router",
        {"prompt": "p", "routes": [{"label": "a"}]},
    ),
    (
        theirs("c", "condition", combinator="AND", rules=[{"field": "a.b", "operator": "greaterThan", "value": 5}, 3]),
        "condition",
        {"combinator": "and", "rules": [{"field": "a.b", "operator": "greater", "value": "5"}, 3]},
    ),
    (theirs("w", "wait", delayAmount="5", delayUnit="minutes"), "wait", {"amount": 5, "unit": "minutes"}),
    (
        theirs("l", "loop", maxIterations=3.0, condition="yes", conditionMode="llm"),
        "loop",
        {"maxIterations": 3, "condition": "yes", "conditionMode": "llm"},
    ),
    (
        theirs("u", "sub-workflow", workflowId="x", awaitResponse=False),
        "sub-workflow",
        {"workflow": "x", "awaitResponse": False},
    ),
    (theirs("u", "user-input", promptText="p"), "user-input", {"prompt": "p"}),
    (theirs("r", "response", responseTemplate="t"), "response", {"template": "t"}),
    (theirs("t", "transfer", targetWorkflowId="x"), "transfer", {"workflow": "x"}),
    (theirs("m", "merge", strategy="first"), "merge", {"strategy": "first"}),
    (theirs("o", "odd", some=1), "odd", {"some": 1}),
]


@pytest.mark.parametrize(("raw", "kind", "data"), PLAYBOOK)
def test_a_node_of_a_playbook(raw: dict[str, Any], kind: str, data: dict[str, Any]) -> None:
    expected = {"id": raw["id"], "type": kind, "x": 1, "y": 2, "label": raw["id"].upper(), "data": data}
    assert node(raw) == expected


@pytest.mark.parametrize(
    ("theirs_", "ours"),
    [
        ("==", "equals"),
        ("not-equals", "not_equals"),
        ("notContains", "not_contains"),
        (">=", "at_least"),
        ("less than", "less"),
        ("isEmpty", "empty"),
        ("exists", "exists"),
        ("sounds_like", "sounds_like"),
    ],
)
def test_operators(theirs_: str, ours: str) -> None:
    found = node(theirs("c", "condition", rules=[{"operator": theirs_, "value": True}]))
    assert found["data"]["rules"] == [{"operator": ours, "value": "true"}]


def test_a_playbook_keeps_its_rules() -> None:
    ids = {"t": "manual", "a": "agent", "b": "agent", "c": "agent", "l": "loop", "m": "merge"}
    ways = [("t", "a"), ("t", "b"), ("a", "c"), ("b", "c"), ("c", "l"), ("b", "l"), ("a", "m"), ("b", "m")]
    edges = [{"id": f"e{n}", "source": one, "target": other} for n, (one, other) in enumerate(ways)]
    edges += [{"source": "l", "sourceHandle": "loop-start", "target": "a"}]
    edges += [{"source": "a", "target": "l", "targetHandle": "loop-back"}]
    raw = {"id": "x", "version": 1, "nodes": [theirs(id_, kind) for id_, kind in ids.items()], "edges": edges}
    found = normalise(raw)
    assert found["settings"] == {"unlabelled": "follow"}
    joins = {each["id"]: each["data"].get("join") for each in found["nodes"]}
    assert joins == {"t": None, "a": "all", "b": None, "c": "all", "l": None, "m": None}
    assert "edges" not in found
    assert normalise(found) == found
    assert Drawing(found).follows_plain


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "yaml"])
@settings(max_examples=60)
@given(
    text=st.text(), number=st.integers() | st.floats(allow_nan=False, allow_infinity=False), name=st.text(min_size=1)
)
def test_what_is_written_is_read_again(form: DocumentForm, text: str, number: float, name: str) -> None:
    first = read(json.dumps({"nodes": [{"id": "a", "data": {"p": text, "n": number, "m": {name: text}}}]}), "json")
    document = normalise(first)
    assert read(write(document, form), form) == document


@pytest.mark.parametrize(
    ("form", "text", "line"),
    [
        ("json", '{\n"nodes": [,]}', 2),
        ("json", '{\n"nodes": [],\n"nodes": []}', 2),
        ("json", '{"nodes": NaN}', None),
        ("json", '{"nodes": 1e999}', None),
        ("json", "[" * 100_000, None),
        ("json", "1" * 5_000, None),
        ("yaml", "nodes: [\n", 2),
        ("yaml", "nodes: []\nname: x\nnodes: []\n", 1),
        ("yaml", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 1),
        ("yaml", "nodes:\n- *nobody\n", 2),
        ("yaml", "nodes: .inf\n", None),
        ("yaml", "? [a]\n: b\n", 1),
        ("yaml", "x: " + "[" * 10_000, 1),
        ("yaml", "- a\n", 1),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(form: DocumentForm, text: str, line: int | None) -> None:
    with pytest.raises(Unprocessable) as refused:
        read(text, form)
    assert refused.value.fix
    assert ("line" in refused.value.what.split(":")[0]) is (line is not None)
    if line is not None:
        assert f", line {line}:" in refused.value.what


def test_a_name_that_stands_twice_is_told_with_both_lines() -> None:
    for form, text in (("json", '{\n"a": {"b": 1,\n"b": 2}}'), ("yaml", "a:\n  b: 1\n  b: 2\n")):
        with pytest.raises(Unprocessable) as refused:
            read(text, form)  # type: ignore[arg-type]
        assert refused.value.fix == "Keep one of lines 2 and 3."


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_too_large_is_not_read(form: DocumentForm) -> None:
    with pytest.raises(TooLarge):
        read('"' + "é" * 500_000 + '"', form)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("yaml", f"nodes: [{'b: ,' * 70_000}]"),
        ("yaml", "nodes:\n" + "- a\n" * 70_000),
        ("yaml", "\n".join(f"k{number}: 1" for number in range(30_000))),
        ("json", f'{{"nodes": [{",".join(["{}"] * 90_000)}]}}'),
    ],
)
def test_a_text_of_too_many_values_is_refused_before_anything_is_built(form: DocumentForm, text: str) -> None:
    begun = time.process_time()
    with pytest.raises(Unprocessable, match="values"):
        read(text, form)
    assert time.process_time() - begun < 1.0


def test_values_of_other_kinds_are_text_in_yaml() -> None:
    text = "a: 2026-01-02\nb: !!python/object/apply:os.system [x]\nc: !!binary aGk=\nd: 12\ne: 'no'\n"
    assert read(text, "yaml") == {"a": "2026-01-02", "b": ["x"], "c": "aGk=", "d": 12, "e": "no"}


def test_what_databases_cannot_keep_is_left_out() -> None:
    assert read('{"name": "a\\u0000b\\ud800"}', "json") == {"name": "ab\ufffd"}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_document_as_deep_as_may_be_goes_through_a_file(form: DocumentForm) -> None:
    # The document, its nodes, the node and its data are four levels; the check reports deeper ones.
    for levels, found in ((MOST_DEPTH - 4, []), (MOST_DEPTH - 3, ["too-deep"])):
        document = drawn("s:start a:agent", "s>a", data={"a": {"more": deep(levels)}})
        assert [each.rule for each in check(document)] == found
        if not found:
            assert read(write(document, form), form) == document


@pytest.mark.parametrize(
    ("value", "text"), [(5, "5"), (5.0, "5"), (1.5, "1.5"), (-3, "-3"), (0, "0"), (True, "true"), (False, "false")]
)
def test_what_a_condition_compares_with_is_a_text(value: Any, text: str) -> None:
    raw = {"nodes": [{"id": "i", "type": "if", "data": {"conditions": [{"value": value}, {"value": [value]}]}}]}
    rows = normalise(raw)["nodes"][0]["data"]["conditions"]
    assert rows == [{"value": text}, {"value": [value]}]
