"""The check of documents, used by the API (for the editor, too) and before every run.

A document without errors can run. Problems have a fixed order: first problems of the document as a whole, then of its
nodes and connections in the order of the document, then of the structure of the workflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from arvis.workflows.document.kinds import (
    ABOUT,
    FARTHEST,
    JOIN,
    JOIN_COUNT,
    KINDS,
    LABEL,
    MOST_BYTES,
    MOST_CONNECTIONS,
    MOST_DEPTH,
    MOST_NODES,
    SCHEMA,
    SETTINGS,
)
from arvis.workflows.document.view import Drawing, label_of, usable_id
from arvis.workflows.validation.branches import check_branches, check_joins, check_subagents
from arvis.workflows.validation.connections import check_connections, check_flow
from arvis.workflows.validation.fields import (
    FieldLocation,
    KnownNames,
    check_fields,
    check_routing,
    check_searching,
    check_templates,
)
from arvis.workflows.validation.rules import Problem, Severity, problem

__all__ = ["KnownNames", "check", "errors"]

_NOTHING_KNOWN = KnownNames()
_DOCUMENT = FieldLocation(None, "the document")


def check(document: Mapping[str, Any], known: KnownNames | None = None) -> list[Problem]:
    """Return the problems of a canonical document (`model.normalise`). Never raise an error, even if the document
    contains values of wrong types."""
    names = known or _NOTHING_KNOWN
    return list(_check_size(document)) or list(_check(document, names))


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that prevent a document from running."""
    return [each for each in problems if each.severity is Severity.ERROR]


def _check(document: Mapping[str, Any], known: KnownNames) -> Iterator[Problem]:
    yield from _check_top(document, known)
    nodes, connections = document.get("nodes"), document.get("connections")
    if not isinstance(nodes, list) or not isinstance(connections, list):
        return
    if len(nodes) > MOST_NODES or len(connections) > MOST_CONNECTIONS:
        return
    drawing = Drawing(document)
    yield from _check_nodes(nodes, known)
    yield from check_connections(connections, drawing)
    yield from check_subagents(drawing)
    yield from check_flow(drawing, known)
    yield from check_routing(drawing)
    yield from check_searching(drawing, known)
    yield from check_branches(drawing)
    yield from check_joins(drawing)
    yield from check_templates(drawing)


def _check_size(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Report a document that is too deep or too large. `check` then reports no other problems."""
    if _too_deep(document):
        yield problem("too-deep", most=MOST_DEPTH)
    elif size_of(document) > MOST_BYTES:
        yield problem("too-large", most=MOST_BYTES)


def _too_deep(document: Mapping[str, Any]) -> bool:
    """Return whether the document is nested too deeply. The document is the first level; each list or object inside it
    adds a level."""
    level: list[Any] = [document]
    for _ in range(MOST_DEPTH):
        inside = [each for value in level for each in (value.values() if isinstance(value, Mapping) else value)]
        level = [each for each in inside if isinstance(each, (Mapping, list))]
    return bool(level)


def size_of(document: Mapping[str, Any]) -> int:
    """Return the size in bytes, as JSON without spaces. Each number counts as one byte, because it can be written in
    several ways."""
    text = json.dumps(_without_numbers(document), ensure_ascii=False, separators=(",", ":"))
    return len(text.encode(errors="surrogatepass"))


def _without_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_numbers(each) for each in value]
    return 0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _check_top(document: Mapping[str, Any], known: KnownNames) -> Iterator[Problem]:
    if document.get("schema") != SCHEMA or isinstance(document["schema"], bool):
        yield problem("schema-version", field="schema", wanted=SCHEMA)
    yield from check_fields(document, ABOUT, _DOCUMENT, known)
    settings = document.get("settings")
    if isinstance(settings, Mapping):
        yield from check_fields(settings, SETTINGS, _DOCUMENT.under("settings"), known)
    else:
        yield problem("not-an-object", field="settings", place="settings")
    for name, most in (("nodes", MOST_NODES), ("connections", MOST_CONNECTIONS)):
        listed = document.get(name)
        if not isinstance(listed, list):
            yield problem("not-a-list", field=name, place=name)
        elif len(listed) > most:
            yield problem(f"too-many-{name}", field=name, most=most)


def _check_nodes(nodes: list[Any], known: KnownNames) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, node in enumerate(nodes):
        place = f"nodes.{index}"
        if not isinstance(node, Mapping):
            yield problem("not-an-object", field=place, place=place)
            continue
        yield from _check_id(node, place, seen)
        yield from _check_node(
            node, FieldLocation(node["id"] if usable_id(node.get("id")) else None, label_of(node)), place, known
        )


def _check_id(node: Mapping[str, Any], place: str, seen: set[str]) -> Iterator[Problem]:
    given = node.get("id")
    if given is None or given == "":
        yield problem("node-id-missing", field="id", place=place)
    elif not usable_id(given):
        yield problem("node-id-odd", field="id", place=place)
    elif given in seen:
        yield problem("node-id-twice", node=given, field="id", id=given)
    else:
        seen.add(given)


def _check_node(node: Mapping[str, Any], place: FieldLocation, path: str, known: KnownNames) -> Iterator[Problem]:
    type_, data = node.get("type"), node.get("data")
    kind = KINDS.get(type_) if isinstance(type_, str) else None
    if not isinstance(type_, str) or type_ == "":
        yield place.problem("type-missing", "type")
    elif kind is None:
        yield place.problem("type-unknown", "type", type=type_)
    if not (_is_place(node.get("x")) and _is_place(node.get("y"))):
        yield place.problem("position-odd", "x", most=FARTHEST)
    yield from check_fields(node, (LABEL,), place, known)
    if not isinstance(data, Mapping):
        yield problem("not-an-object", node=place.node, field="data", place=f"{path}.data")
    elif kind is not None:
        yield from check_fields(data, kind.fields if kind.begins else (*kind.fields, JOIN, JOIN_COUNT), place, known)


def _is_place(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -FARTHEST <= value <= FARTHEST
