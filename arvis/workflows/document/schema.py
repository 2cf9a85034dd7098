"""The published JSON schema (2020-12) of canonical documents, made from the kinds.

The schema describes only the fields; `check.check` checks the workflow as a whole.
`docs/reference/workflow.schema.json` is a copy for editors: `python -m tests.fixtures.workflow_docs` regenerates it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.workflows.document import kinds
from arvis.workflows.document.kinds import Field, Form, Kind

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def schema() -> Schema:
    """Return a new copy of the schema, because the caller may change it."""
    return {
        "$schema": _DIALECT,
        "title": "Workflow",
        "description": "A workflow of Arvis. Unlisted names are kept and ignored.",
        "type": "object",
        "required": ["schema", "nodes", "connections"],
        "properties": {
            "schema": {"const": kinds.SCHEMA},
            **_properties(kinds.ABOUT),
            "settings": {"type": "object", "properties": _properties(kinds.SETTINGS)},
            "nodes": {"type": "array", "maxItems": kinds.MOST_NODES, "items": _node()},
            "connections": {"type": "array", "maxItems": kinds.MOST_CONNECTIONS, "items": _connection()},
        },
        "$defs": {kind.name: _data(kind) for kind in kinds.KINDS.values()},
    }


def _node() -> Schema:
    """Return the schema of a node. Unknown kinds are allowed: a run skips them with a warning."""
    place = {"type": "number", "minimum": -kinds.FARTHEST, "maximum": kinds.FARTHEST}
    return {
        "type": "object",
        "required": ["id", "type", "data"],
        "properties": {
            "id": _id(),
            "type": {"type": "string", "minLength": 1, "examples": list(kinds.KINDS)},
            "x": place,
            "y": place,
            **_properties((kinds.LABEL,)),
            "data": {"type": "object"},
        },
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"properties": {"data": {"$ref": f"#/$defs/{name}"}}},
            }
            for name in kinds.KINDS
        ],
    }


def _connection() -> Schema:
    handle = {"type": "string", "default": ""}
    return {
        "type": "object",
        "required": ["source", "target"],
        "properties": {
            "id": _id(),
            "source": _id(),
            "target": _id(),
            "sourceHandle": {**handle, "description": "The output of the source; empty: its plain output."},
            "targetHandle": {**handle, "description": "The input of the target; empty: its plain input."},
        },
    }


def _id() -> Schema:
    return {"type": "string", "pattern": f"^{kinds.ID}$"}


def _data(kind: Kind) -> Schema:
    fields = kind.fields if kind.begins else (*kind.fields, kinds.JOIN, kinds.JOIN_COUNT)
    return {"title": kind.label, "description": kind.help, **_object(fields)}


def _object(fields: Sequence[Field]) -> Schema:
    required = [field.name for field in fields if field.required]
    return {
        "type": "object",
        "properties": _properties(fields),
        **({"required": required} if required else {}),
    }


def _properties(fields: Sequence[Field]) -> Schema:
    return {field.name: _field(field) for field in fields}


def _field(field: Field) -> Schema:
    """Return the schema of a field. An optional field may also be null; a choice may be empty."""
    about: Schema = {"title": field.label}
    if described := " ".join(filter(None, [field.help, _choices(field)])):
        about["description"] = described
    if field.default is not None:
        about["default"] = field.default
    shape = _shape(field)
    if field.required:
        return {**about, **shape}
    if "enum" in shape:
        return {**about, "enum": list(dict.fromkeys([*shape["enum"], "", None]))}
    return {**about, **shape, "type": [shape["type"], "null"]}


def _choices(field: Field) -> str:
    """Return the choices whose label differs from their name, each with its label; "" if there are no such choices."""
    named = [
        f"{one}: {words}" for one, words in zip(field.choices, field.words, strict=False) if words and words != one
    ]
    return f"{'; '.join(named)}." if named else ""


def _shape(field: Field) -> Schema:
    match field.form:
        case Form.NUMBER:
            return {"type": "integer", **_bounds(field, "minimum", "maximum")}
        case Form.SWITCH:
            return {"type": "boolean"}
        case Form.CHOICE:
            return {"enum": list(field.choices)}
        case Form.LIST:
            return {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                **_bounds(field, "minItems", "maxItems"),
            }
        case Form.ROWS:
            return {"type": "array", "items": _object(field.fields), **_bounds(field, "minItems", "maxItems")}
        case Form.SWITCHES:
            return _object(field.fields)
        case Form.OBJECT:
            return {"type": "object"}
        case _:
            least = {"minLength": 1} if field.required else {}
            return {"type": "string", **least, **_bounds(field, "", "maxLength")}


def _bounds(field: Field, least: str, most: str) -> Schema:
    bounds = {least: field.least, most: field.most}
    return {name: bound for name, bound in bounds.items() if name and bound is not None}
