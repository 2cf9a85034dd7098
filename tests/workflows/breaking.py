"""Random changes that break a drawn document, one for each rule.

A change that finds no suitable place leaves the document as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from arvis.workflows.document import kinds
from arvis.workflows.document.kinds import Field, Form

Document = dict[str, Any]
Spoil = Callable[[Random, Document], None]

#: Names with a special meaning in Python or JavaScript.
NAMES = ("constructor", "__proto__", "toString", "hasOwnProperty", "", " ", "é", "a b", "x" * 129, "n\n", "0", "null")


def _node(chance: Random, drawn: Document, *wanted: str) -> Document | None:
    found = [node for node in drawn["nodes"] if not wanted or node["type"] in wanted]
    return chance.choice(found) if found else None


def _connection(chance: Random, drawn: Document) -> Document | None:
    return chance.choice(drawn["connections"]) if drawn["connections"] else None


def _connect(drawn: Document, source: str, target: str, handle: str = "", into: str = "") -> None:
    name = f"x{len(drawn['connections'])}"
    made = {"id": name, "source": source, "target": target, "sourceHandle": handle, "targetHandle": into}
    drawn["connections"].append(made)


def _between(*wanted_source: str, target: tuple[str, ...] = (), handle: str = "", into: str = "") -> Spoil:
    """Return a change that adds a connection from a node of one of these kinds to one of those."""

    def spoil(chance: Random, drawn: Document) -> None:
        source, other = _node(chance, drawn, *wanted_source), _node(chance, drawn, *target)
        if source and other:
            _connect(drawn, source["id"], other["id"], handle, into)

    return spoil


def _of_node(key: str, *values: Any, kind: tuple[str, ...] = ()) -> Spoil:
    """Return a change that replaces a key of a node with another value; `...` removes the key."""

    def spoil(chance: Random, drawn: Document) -> None:
        if node := _node(chance, drawn, *kind):
            _put(node, key, chance.choice(values))

    return spoil


def _of_connection(key: str, *values: Any) -> Spoil:
    def spoil(chance: Random, drawn: Document) -> None:
        if one := _connection(chance, drawn):
            _put(one, key, chance.choice(values))

    return spoil


def _put(into: Document, key: str, value: Any) -> None:
    into.pop(key, None)
    if value is not ...:
        into[key] = value


def _of_data(key: str, *values: Any, kind: tuple[str, ...] = ()) -> Spoil:
    def spoil(chance: Random, drawn: Document) -> None:
        node = _node(chance, drawn, *kind)
        if node and isinstance(node["data"], dict):
            _put(node["data"], key, chance.choice(values))

    return spoil


def _field(chance: Random, drawn: Document) -> None:
    """Set a field to a value that is invalid or just valid."""
    node = _node(chance, drawn, *(name for name, kind in kinds.KINDS.items() if kind.fields))
    if node is None or not isinstance(node["data"], dict) or node["type"] not in kinds.KINDS:
        return
    field = chance.choice([*kinds.KINDS[node["type"]].fields, kinds.JOIN, kinds.JOIN_COUNT])
    if field.form is Form.ROWS and chance.random() < 0.5:
        rows = node["data"].get(field.name)
        if isinstance(rows, list) and rows and isinstance(rows[-1], dict):
            inner = chance.choice(field.fields)
            _put(rows[-1], inner.name, chance.choice(edges(inner)))
        return
    _put(node["data"], field.name, chance.choice(edges(field)))


def _setting(chance: Random, drawn: Document) -> None:
    field = chance.choice(kinds.SETTINGS)
    if isinstance(drawn.get("settings"), dict):
        _put(drawn["settings"], field.name, chance.choice(edges(field)))


def edges(field: Field) -> list[Any]:
    """Return values at the limits of a field and beyond them."""
    least, most = field.least or 0, field.most or 100
    return [
        *(
            {Form.NUMBER: [least, least - 1, most, most + 1, 1.5, float(least), -0.0, 1e300, True, "3"]}.get(
                field.form, []
            )
        ),
        *(
            ["🎉" * most, "🎉" * (most + 1), "\ud800" * 3, "\U0001f389", " ", ""]
            if field.form in {Form.LINE, Form.TEXT}
            else []
        ),
        *([*field.choices, "no choice", field.choices[0].upper()] if field.choices else []),
        *([[{}] * 21, [{}], [], [None], [[]], {"0": {}}] if field.form is Form.ROWS else []),
        *(
            [{}, {"web_search": 1}, {"nobody": True}, {"__proto__": {"a": 1}}, []]
            if field.form is Form.SWITCHES
            else []
        ),
        *([["a", "a"], [""], [1], ["x"] * 201, "a, b", ["x" * 300]] if field.form is Form.LIST else []),
        *([{"a": {"b": [1, 2.0]}}, [], "{}"] if field.form is Form.OBJECT else []),
        *(None, ..., True, 0, "text", [], {}),
    ]


def _remove_node(chance: Random, drawn: Document) -> None:
    if node := _node(chance, drawn):
        drawn["nodes"].remove(node)


def _remove_connection(chance: Random, drawn: Document) -> None:
    if one := _connection(chance, drawn):
        drawn["connections"].remove(one)


def _remove_all_of(key: str) -> Spoil:
    """Return a change that removes all connections at one end of a node."""

    def spoil(chance: Random, drawn: Document) -> None:
        if node := _node(
            chance, drawn, *(("start", "trigger", "if", "approval", "router", "loop") if key == "source" else ())
        ):
            drawn["connections"] = [one for one in drawn["connections"] if one[key] != node["id"]]

    return spoil


def _twice(what: str) -> Spoil:
    """Return a change that adds a copy with the same id or another one."""

    def spoil(chance: Random, drawn: Document) -> None:
        if drawn[what]:
            one = chance.choice(drawn[what])
            copy = {**one, **({"id": f"{one.get('id', '')}-copy"} if chance.random() < 0.5 else {})}
            drawn[what].insert(chance.randrange(len(drawn[what]) + 1), copy)

    return spoil


def _no_beginning(chance: Random, drawn: Document) -> None:
    drawn["nodes"] = [node for node in drawn["nodes"] if node["type"] not in {"start", "trigger"}]


def _circle(handle: str, kind: tuple[str, ...] = ()) -> Spoil:
    """Return a change that connects some nodes in a circle."""

    def spoil(chance: Random, drawn: Document) -> None:
        found = [node for node in drawn["nodes"] if not kind or node["type"] in kind]
        some = chance.sample(found, min(len(found), chance.choice((1, 2, 3, 4))))
        for at, node in enumerate(some):
            _connect(drawn, node["id"], some[at - 1]["id"], handle)

    return spoil


def _joins(chance: Random, drawn: Document) -> None:
    """Let several nodes wait for all or many of their branches."""
    for node in chance.sample(drawn["nodes"], min(len(drawn["nodes"]), 4)):
        if isinstance(node["data"], dict):
            node["data"] |= chance.choice(
                ({"join": "all"}, {"join": "n", "joinCount": chance.choice((1, 2, 3, 9))}, {"join": "n"})
            )


def _circle_of_joins(chance: Random, drawn: Document) -> None:
    """Let two nodes after the start wait for each other."""
    begin, some = (
        _node(chance, drawn, "start", "trigger"),
        [_node(chance, drawn, "agent", "wait", "response") for _ in range(2)],
    )
    for node, other in zip(some, reversed(some), strict=True):
        if begin and node and other:
            node["data"]["join"] = "all"
            _connect(drawn, begin["id"], node["id"])
            _connect(drawn, node["id"], other["id"])


def _loop_itself(chance: Random, drawn: Document) -> None:
    """Connect an output of a loop to its own input."""
    if loop := _node(chance, drawn, "loop"):
        _connect(drawn, loop["id"], loop["id"], chance.choice(("loop-start", "loop-exit", "")), "loop-back")


def _many(what: str, count: int) -> Spoil:
    def spoil(chance: Random, drawn: Document) -> None:
        if drawn[what]:
            one = chance.choice(drawn[what])
            drawn[what] += [{**one, "id": f"many-{at}"} for at in range(count)]

    return spoil


def _of_document(key: str, *values: Any) -> Spoil:
    def spoil(chance: Random, drawn: Document) -> None:
        _put(drawn, key, chance.choice(values))

    return spoil


def _unlisted(chance: Random, drawn: Document) -> None:
    what = chance.choice(("nodes", "connections"))
    drawn[what].insert(chance.randrange(len(drawn[what]) + 1), chance.choice((None, 1, "x", [], True, {})))


_AGENT, _CHOICE = ("agent",), ("if", "approval", "router", "condition", "loop")
_TEMPLATES = (
    "{{nobody.result}}",
    "{{Label}} {{Label}}",
    "{{ Label }}",
    "{{start-1.result}}{{}}",
    "{{previous_output}}",
    "{{a\nb}}",
)

#: (weight, change)
SPOILS: tuple[tuple[int, Spoil], ...] = (
    (20, _field),
    (2, _of_data("routes", [], [{}] * 21, [{"label": ""}], kind=("router",))),
    (2, _of_data("rules", [], [{}] * 21, [{"operator": "is"}], kind=("condition",))),
    (3, _setting),
    (2, _of_node("id", ..., None, 1, *NAMES)),
    (2, _of_node("type", ..., None, "input", "end", "If", 3, *NAMES)),
    (2, _of_node("x", ..., None, "1", 1_000_000, 1_000_001, -1e9, 1e300, True, [])),
    (2, _of_node("label", "", " ", None, 7, "Label", "trigger", "x" * 201, "é" * 200)),
    (1, _of_node("data", ..., None, [], "data", {"unknown": 1})),
    (2, _twice("nodes")),
    (2, _twice("connections")),
    (2, _remove_node),
    (3, _remove_connection),
    (2, _remove_all_of("source")),
    (2, _remove_all_of("target")),
    (2, _of_connection("id", ..., None, 1, "c1", *NAMES)),
    (2, _of_connection("source", "nobody", ..., None, 1, *NAMES)),
    (2, _of_connection("target", "nobody", ..., None, [], *NAMES)),
    (
        3,
        _of_connection(
            "sourceHandle", "", "output", "true", "condition-9", "subagent", "loop-exit", ..., None, 1, *NAMES
        ),
    ),
    (3, _of_connection("targetHandle", "input", "target", "loop-back", "subagent-target", ..., None, {}, *NAMES)),
    (1, _of_document("schema", ..., None, 1.0, 2, "1", True)),
    (1, _of_document("settings", ..., None, [], {"nobody": 1}, {"maxSteps": 0})),
    (1, _of_document("nodes", ..., None, {}, "", [], [[]])),
    (1, _of_document("connections", ..., None, {}, 1, [])),
    (1, _of_document("name", ..., None, 1, "x" * 201, [])),
    (1, _unlisted),
    (1, _no_beginning),
    (2, _twice("nodes")),
    (2, _between(target=("start", "trigger"))),
    (2, _between("start", target=("start", "trigger", "agent"))),
    (3, _between()),
    (2, _between(*_CHOICE)),
    (2, _between(*_AGENT, target=_AGENT, handle="subagent")),
    (2, _between(handle="subagent")),
    (1, _between(*_AGENT, target=_AGENT, handle="subagent", into="subagent-target")),
    (1, _between(*_AGENT, target=_AGENT, handle="subagent", into="loop-back")),
    (2, _circle("subagent", _AGENT)),
    (2, _circle("")),
    (2, _circle_of_joins),
    (2, _loop_itself),
    (1, _circle("", ("agent", "wait", "response", "parallel", "merge"))),
    (2, _of_data("tools", ..., {}, {"subagents": False}, {"subagents": 1}, kind=_AGENT)),
    (2, _between(target=("loop",), into="loop-back")),
    (2, _between(target=("merge",))),
    (2, _between("parallel")),
    (2, _of_node("type", "transfer")),
    (2, _of_node("type", "merge", "parallel", "loop", "if", "start", "trigger", "agent")),
    (3, _joins),
    (2, _of_data("userPrompt", *_TEMPLATES)),
    (1, _of_data("prompt", *_TEMPLATES)),
    (2, _of_data("kind", "calendar", "workbench", "webhook", "heartbeat", "schedule", kind=("trigger",))),
    (2, _of_data("model", "openai/lost", "openai/served", "lost", "anthropic/any", "/", "", 1, kind=_AGENT)),
    (1, _of_data("allowTools", ["notes.find"], ["other.find", "look"], ["notes."], kind=_AGENT)),
    (2, _of_data("tools", {"web_search": True}, {"web_search": 1}, kind=_AGENT)),
    (1, _of_data("agent", "text", "helper", "nobody", kind=_AGENT)),
    (2, _of_data("maxIterations", 300, 1_000, 0, 2.5, True, kind=("loop",))),
    (2, _of_data("conditions", [], [{}], [{"value": " "}], [{"value": "\u00a0"}], [1], kind=("if",))),
    (1, _of_data("rules", [{"operator": "contains"}], [{"operator": "less", "value": "\t"}], kind=("condition",))),
)
#: Changes that make documents large enough to be slow.
HEAVY: tuple[Spoil, ...] = (
    _many("nodes", 501),
    _many("nodes", 450),
    _many("connections", 2_001),
    _many("connections", 1_900),
    _of_data("userPrompt", "x" * 1_000_001, "é" * 500_000, "🎉" * 250_000, "\ud800" * 200_000, kind=_AGENT),
)


def spoiled(chance: Random, drawn: Document, times: int) -> Document:
    """Apply random changes to the drawn document, in place, and return it."""
    weights = [weight for weight, _ in SPOILS]
    for _ in range(times):
        if not isinstance(drawn.get("nodes"), list) or not isinstance(drawn.get("connections"), list):
            break
        try:
            chance.choices([spoil for _, spoil in SPOILS], weights)[0](chance, drawn)
        except (KeyError, TypeError, AttributeError):  # an earlier change has broken this place
            continue
    return drawn
