"""Connections: each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arvis.workflows.drawing import Connection, Drawing, Node, handles, usable_id
from arvis.workflows.kinds import SUBAGENT
from arvis.workflows.rules import Problem, problem


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
        # A handle that is no text cannot be the name of one.
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
        # `subagent_checks.py` judges these.
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
    """The ways out of a node for people."""
    return ", ".join(handle or "its plain way out" for handle in handles(node)) or "none, nothing can follow it"
