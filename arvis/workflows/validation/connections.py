"""Check each connection, and the flow from the start to the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arvis.workflows.document.fields import CALLED_TRIGGERS, UNSERVED_TRIGGERS
from arvis.workflows.document.kinds import SUBAGENT
from arvis.workflows.document.view import Connection, Drawing, Node, circles, handles, reach, usable_id
from arvis.workflows.validation.fields import KnownNames
from arvis.workflows.validation.rules import Problem, problem


def check_connections(connections: list[Any], drawing: Drawing) -> Iterator[Problem]:
    ids: set[str] = set()
    ends: set[tuple[Any, ...]] = set()
    for index, raw in enumerate(connections):
        place = f"connections.{index}"
        if not isinstance(raw, Mapping):
            yield problem("not-an-object", field=place, place=place)
            continue
        yield from _check_id(raw.get("id"), place, ids)
        source, target = (_node_at(raw.get(end), drawing) for end in ("source", "target"))
        id_ = raw["id"] if usable_id(raw.get("id")) else None
        if source is None:
            yield problem("connection-source", connection=id_, field="source", place=place)
        if target is None:
            named = None if source is None else source.id
            yield problem("connection-target", node=named, connection=id_, field="target", place=place)
        if source is None or target is None:
            continue
        out, into = raw.get("sourceHandle"), raw.get("targetHandle")
        # `_text` replaces a handle that is no text by a handle that no node has.
        yield from _check_handles(
            source, target, Connection(id_, source.id, target.id, _text(out), _text(into)), drawing
        )
        four = (source.id, target.id, _text(out), _text(into))
        if four in ends:
            yield problem("connection-twice", node=source.id, connection=id_, name=source.name, other=target.name)
        ends.add(four)


def _check_id(given: Any, place: str, seen: set[str]) -> Iterator[Problem]:
    if not usable_id(given):
        yield problem("connection-id-odd", field="id", place=place)
    elif given in seen:
        yield problem("connection-id-twice", connection=given, field="id", id=given)
    else:
        seen.add(given)


def _node_at(end: Any, drawing: Drawing) -> Node | None:
    return drawing.nodes.get(end) if isinstance(end, str) else None


def _text(handle: Any) -> str:
    return handle if isinstance(handle, str) else "?"


def _check_handles(source: Node, target: Node, each: Connection, drawing: Drawing) -> Iterator[Problem]:
    if each.out == SUBAGENT:
        # `branches.check_subagents` checks the connections to subagents.
        return
    if not drawing.leads_on(each):
        code = (
            "handle-empty" if each.out == "" and source.kind is not None and source.kind.chooses else "handle-unknown"
        )
        yield problem(
            code,
            node=source.id,
            connection=each.id,
            field="sourceHandle",
            name=source.name,
            handle=each.out,
            choices=choices(source),
        )
    if target.begins:
        yield problem("target-begins", node=source.id, connection=each.id, field="target", name=target.name)
    elif target.kind is not None and each.into not in target.kind.ins:
        yield problem(
            "handle-target",
            node=source.id,
            connection=each.id,
            field="targetHandle",
            name=target.name,
            handle=each.into,
        )


def choices(node: Node) -> str:
    """Return the outputs of a node as a text for people."""
    return ", ".join(handle or "its plain output" for handle in handles(node)) or "none, nothing can follow it"


def check_flow(drawing: Drawing, known: KnownNames) -> Iterator[Problem]:
    yield from _check_begins(drawing)
    yield from _check_triggers(drawing)
    yield from _check_served(drawing, known)
    for node in drawing.nodes.values():
        rule = node.kind.unconnected if node.kind is not None else ""
        if rule and node.id in drawing.reached and node.id not in drawing.leaving:
            yield problem(rule, node=node.id, name=node.name, choices=choices(node))
    yield from _check_reached(drawing)
    yield from _check_circles(drawing)


def _check_begins(drawing: Drawing) -> Iterator[Problem]:
    begins = [node for node in drawing.nodes.values() if node.begins]
    starts = [node for node in begins if node.type == "start"]
    if not begins:
        yield problem("start-missing")
    for node in starts[1:]:
        yield problem("start-twice", node=node.id)
    connected = {each.source for each in drawing.flow}
    for node in begins:
        if node.id not in connected:
            yield problem("start-unconnected", node=node.id, name=node.name)
        elif node.id not in drawing.leaving:
            yield problem("start-reaches-nothing", node=node.id, name=node.name)


def _check_triggers(drawing: Drawing) -> Iterator[Problem]:
    seen: dict[tuple[str, ...], Node] = {}
    for node in drawing.nodes.values():
        if node.type != "trigger":
            continue
        events = tuple(_said(node, name) for name in ("kind", "platform", "channel", "words"))
        if events in seen:
            yield problem("trigger-twice", node=node.id, name=seen[events].name, other=node.name)
        else:
            seen[events] = node


def _check_served(drawing: Drawing, known: KnownNames) -> Iterator[Problem]:
    """Report triggers that never start a run. Also report triggers that only a schedule or webhook starts, if no
    schedule or webhook names this workflow."""
    for node in drawing.nodes.values():
        kind = _said(node, "kind") if node.type == "trigger" else ""
        if kind in UNSERVED_TRIGGERS:
            yield problem("trigger-unserved", node=node.id, field="kind", name=node.name, value=kind)
        elif kind in CALLED_TRIGGERS and known.begun is not None and kind not in known.begun:
            what, how = CALLED_TRIGGERS[kind]
            yield problem("trigger-idle", node=node.id, field="kind", name=node.name, what=what, how=how)


def _said(node: Node, field: str) -> str:
    value = node.data.get(field)
    return value if isinstance(value, str) else ""


def _check_reached(drawing: Drawing) -> Iterator[Problem]:
    """Report unreachable nodes. A subagent is reachable if the node that calls it is reachable."""
    used = reach(drawing.reached, drawing.subagents)
    for node in drawing.nodes.values():
        if node.id not in used and not node.begins:
            yield problem("unreachable", node=node.id, name=node.name)


def _check_circles(drawing: Drawing) -> Iterator[Problem]:
    reached = [node for node in drawing.nodes.values() if node.id in drawing.reached]
    restless = [node.id for node in reached if node.kind is None or not node.kind.holds]
    for circle in circles(restless, drawing.ways):
        yield problem("cycle-unbounded", node=circle[0], path=drawing.path(circle))
