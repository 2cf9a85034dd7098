"""Documents in a short notation; for every rule there is one that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.workflows.validation.check import KnownNames

Case = tuple[str, dict[str, Any], tuple[str | None, str | None, str | None]]


def drawn(nodes: str, *ways: str, data: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """Return a document.

    `nodes` is `id:type id:type`, each way is `source[/handle]>target[/handle]`, and `data` is by id.
    """
    named = [each.split(":") for each in nodes.split()]
    listed = [
        {"id": id_, "type": type_, "x": 0, "y": 0, "data": dict((data or {}).get(id_, {}))} for id_, type_ in named
    ]
    connections = []
    for number, way in enumerate(ways, 1):
        (source, _, out), (target, _, into) = (end.partition("/") for end in way.split(">"))
        ends = {"source": source, "target": target, "sourceHandle": out, "targetHandle": into}
        connections.append({"id": f"c{number}", **ends})
    return {"schema": 1, "settings": {}, "nodes": listed, "connections": connections, **more}


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


_LINE = "s:start a:agent"
_PAIR = "s:start a:agent b:agent"
_SUBAGENTS = {
    "a": {"tools": {"subagents": True}},
    "b": {"tools": {"subagents": True}},
    "c": {"tools": {"subagents": True}},
}
_RULES = {"rules": [{"field": "x"}]}
_ROUTES = {"routes": [{"label": "yes"}]}


def _with(document: dict[str, Any], part: str, index: int, **changes: Any) -> dict[str, Any]:
    document[part][index].update(changes)
    return document


def _line(**data: Any) -> dict[str, Any]:
    return drawn(_LINE, "s>a", data={"a": data})


def _one(type_: str, **data: Any) -> dict[str, Any]:
    return drawn(f"s:start a:{type_}", "s>a", data={"a": data})


_PARTS: list[Case] = [
    ("too-deep", _line(more=deep(32)), (None, None, None)),
    ("too-large", _line(more="x" * 1_000_000), (None, None, None)),
    ("schema-version", {**_line(), "schema": 2}, (None, None, "schema")),
    ("not-a-list", {**_line(), "nodes": {}}, (None, None, "nodes")),
    ("not-an-object", {**_line(), "settings": []}, (None, None, "settings")),
    ("too-many-nodes", drawn(" ".join(f"n{i}:agent" for i in range(501))), (None, None, "nodes")),
    ("too-many-connections", drawn(_LINE, *["s>a"] * 2001), (None, None, "connections")),
    ("node-id-missing", _with(_line(), "nodes", 1, id=None), (None, None, "id")),
    ("node-id-odd", _with(_line(), "nodes", 1, id="a b"), (None, None, "id")),
    ("node-id-twice", drawn("s:start a:agent a:agent", "s>a"), ("a", None, "id")),
    ("type-missing", _with(_line(), "nodes", 1, type=7), ("a", None, "type")),
    ("type-unknown", _one("end"), ("a", None, "type")),
    ("position-odd", _with(_line(), "nodes", 1, x="left"), ("a", None, "x")),
    ("field-missing", _one("tool-call"), ("a", None, "tool")),
    ("field-form", _line(userPrompt=3), ("a", None, "userPrompt")),
    ("field-form", _line(outputSchema={"type": "odd"}), ("a", None, "outputSchema")),
    ("field-choice", _line(reasoningEffort="huge"), ("a", None, "reasoningEffort")),
    ("field-low", _one("wait", amount=-1), ("a", None, "amount")),
    ("field-high", _one("wait", amount=100_001), ("a", None, "amount")),
    ("field-long", _line(agentName="é" * 101), ("a", None, "agentName")),
    ("field-few", drawn("s:start a:router", "s>a", data={"a": {"routes": []}}), ("a", None, "routes")),
    ("field-many", _line(allowTools=["x"] * 201), ("a", None, "allowTools")),
    ("agent-unknown", _line(agent="nobody"), ("a", None, "agent")),
    ("tool-unknown", _line(allowTools=["calculate", "guess"]), ("a", None, "allowTools")),
    ("tool-offline", _line(allowTools=["calculate", "notes.find"]), ("a", None, "allowTools")),
    ("model-unknown", _line(model="openai/lost"), ("a", None, "model")),
    ("web-search-missing", _line(agent="helper", tools={"web_search": True}), ("a", None, "tools.web_search")),
    ("workflow-unknown", _one("transfer", workflow="lost"), ("a", None, "workflow")),
]
_CONNECTIONS: list[Case] = [
    ("connection-id-odd", _with(_line(), "connections", 0, id="ä"), (None, None, "id")),
    ("connection-id-twice", _with(drawn(_PAIR, "s>a", "a>b"), "connections", 1, id="c1"), (None, "c1", "id")),
    ("connection-source", drawn(_LINE, "s>a", "x>a"), (None, "c2", "source")),
    ("connection-target", drawn(_LINE, "s>a", "a>x"), ("a", "c2", "target")),
    ("connection-twice", drawn(_LINE, "s>a", "s>a"), ("s", "c2", None)),
    ("handle-unknown", drawn(_PAIR, "s>a", "a/odd>b"), ("a", "c2", "sourceHandle")),
    ("handle-empty", drawn("s:start a:if b:agent", "s>a", "a>b", "a/false>b"), ("a", "c2", "sourceHandle")),
    ("handle-target", drawn(_PAIR, "s>a", "a>b/loop-back"), ("a", "c2", "targetHandle")),
    ("target-begins", drawn(_LINE, "s>a", "a>s"), ("a", "c2", "target")),
    ("subagent-source", drawn("s:start a:if b:agent", "s>a", "a/subagent>b"), ("a", "c2", "source")),
    ("subagent-target", drawn("s:start a:agent b:if", "s>a", "a/subagent>b", data=_SUBAGENTS), ("b", "c2", "target")),
    ("subagent-handle", drawn(_PAIR, "s>a", "a/subagent>b/odd", data=_SUBAGENTS), ("a", "c2", "targetHandle")),
    ("subagent-off", drawn(_PAIR, "s>a", "a/subagent>b"), ("a", "c2", "tools.subagents")),
    ("subagent-self", drawn(_LINE, "s>a", "a/subagent>a", data=_SUBAGENTS), ("a", "c2", "target")),
    (
        "subagent-parents",
        drawn(f"{_PAIR} c:agent", "s>a", "a>b", "a/subagent>c", "b/subagent>c", data=_SUBAGENTS),
        ("c", None, None),
    ),
    ("subagent-flow", drawn(_PAIR, "s>a", "a/subagent>b", "a>b", data=_SUBAGENTS), ("b", None, None)),
    (
        "subagent-cycle",
        drawn(f"{_PAIR} c:agent", "s>a", "a/subagent>b", "b/subagent>c", "c/subagent>b", data=_SUBAGENTS),
        ("b", None, None),
    ),
]
_TRIGGERS = {"t": {"kind": "message", "words": "hi"}, "u": {"kind": "message", "words": "hi"}}
_DRAWN: list[Case] = [
    ("start-missing", drawn("a:agent"), (None, None, None)),
    ("start-twice", drawn("s:start t:start a:agent", "s>a", "t>a"), ("t", None, None)),
    ("start-unconnected", drawn("s:start t:trigger a:agent", "s>a", data=_TRIGGERS), ("t", None, None)),
    ("start-reaches-nothing", drawn("s:start t:trigger", "s>t", data=_TRIGGERS), ("s", None, None)),
    ("trigger-twice", drawn("t:trigger u:trigger a:agent", "t>a", "u>a", data=_TRIGGERS), ("u", None, None)),
    ("trigger-unserved", drawn("t:trigger a:agent", "t>a", data={"t": {"kind": "calendar"}}), ("t", None, "kind")),
    ("trigger-idle", drawn("t:trigger a:agent", "t>a", data={"t": {"kind": "webhook"}}), ("t", None, "kind")),
    ("branch-missing", _one("condition", **_RULES), ("a", None, None)),
    ("approval-branch-missing", _one("approval"), ("a", None, None)),
    ("conditions-missing", _one("if"), ("a", None, "conditions")),
    ("condition-empty", _one("if", conditions=[{"value": "x"}, {"value": " "}]), ("a", None, "conditions.1.value")),
    ("rule-empty", _one("condition", rules=[{"operator": "contains"}]), ("a", None, "rules.0.value")),
    ("unreachable", drawn(_PAIR, "s>a"), ("b", None, None)),
    ("cycle-unbounded", drawn(_PAIR, "s>a", "a>b", "b>a"), ("a", None, None)),
    (
        "loop-over-steps",
        drawn(
            "s:start k:loop l:loop a:agent",
            *("s>k", "k/loop-start>l", "l/loop-start>a", "a>l/loop-back", "l/loop-exit>k/loop-back"),
            data={"k": {"maxIterations": 25}, "l": {"maxIterations": 20}},
        ),
        ("k", None, "maxIterations"),
    ),
    ("loop-without-return", drawn("s:start l:loop a:agent", "s>l", "l/loop-start>a"), ("l", None, None)),
    (
        "loop-back-outside",
        drawn("s:start l:loop a:agent", "s>l", "l/loop-start>l/loop-back", "l/loop-exit>a", "a>l/loop-back"),
        ("l", "c4", None),
    ),
    ("merge-without-parallel", drawn("s:start m:merge a:agent", "s>m", "m>a"), ("m", None, None)),
    ("parallel-without-merge", drawn("s:start p:parallel a:agent", "s>p", "p>a"), ("p", None, None)),
    (
        "transfer-in-loop",
        drawn(
            "s:start l:loop a:if t:transfer",
            *("s>l", "l/loop-start>a", "a/condition-0>t", "a/false>l/loop-back"),
            data={"a": {"conditions": [{"value": "x"}]}, "t": {"workflow": "w"}},
        ),
        ("t", None, None),
    ),
    (
        "transfer-in-parallel",
        drawn("s:start p:parallel t:transfer m:merge", "s>p", "p>t", "p>m", data={"t": {"workflow": "w"}}),
        ("t", None, None),
    ),
    ("join-count-missing", _line(join="n"), ("a", None, "joinCount")),
    ("join-count-high", _line(join="n", joinCount=2), ("a", None, "joinCount")),
    ("join-starved", drawn(_PAIR, "s>a", "a>b", "b>a", data={"a": {"join": "n", "joinCount": 2}}), ("a", None, "join")),
    (
        "join-deadlock",
        drawn(_PAIR, "s>a", "s>b", "a>b", "b>a", data={"a": {"join": "all"}, "b": {"join": "all"}}),
        ("a", None, "join"),
    ),
    ("label-unknown", _line(userPrompt="{{ Nobody.result }}"), ("a", None, "userPrompt")),
    (
        "label-twice",
        drawn(
            "s:start a:agent b:agent",
            "s>a",
            "a>b",
            data={"a": {"agentName": "B"}, "b": {"agentName": "B", "userPrompt": "{{B}}"}},
        ),
        ("b", None, "userPrompt"),
    ),
]

CASES: list[Case] = [*_PARTS, *_CONNECTIONS, *_DRAWN]
KNOWN = KnownNames(
    agents={"helper"},
    searching=(),
    tools={"calculate", "web_search"},
    servers={"notes"},
    models={"openai/served", "anthropic/*"},
    workflows={"w"},
    begun={"schedule"},
)
