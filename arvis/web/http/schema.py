"""JSON Schemas of requests and responses, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
#: Arbitrary bytes.
FILE: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
TIME: Schema = {"type": "integer", "description": "Milliseconds since the epoch (UTC)."}
LABEL: Schema = {"type": "string", "minLength": 1, "maxLength": 200}


def optional(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(values: Any) -> Schema:
    return {"type": "string", "enum": sorted(str(value) for value in values)}


def array(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def object_schema(schema: dict[str, Schema], *, required: tuple[str, ...] | None = None) -> Schema:
    """Return the schema of an object. Without `required`, every field is required."""
    return {"type": "object", "properties": schema, "required": list(schema if required is None else required)}


def page_schema(schema: Schema) -> Schema:
    return object_schema({"items": array(schema), "nextCursor": optional(STRING)})


ERROR = object_schema({"error": object_schema({"code": STRING, "message": STRING, "fix": STRING})})
OK = object_schema({"ok": BOOLEAN})

STEP: Schema = {
    "type": "object",
    "properties": {
        "at": TIME,
        "step": STRING,
        "actor": {**optional(STRING), "description": "A person, model, tool or node."},
        "durationMs": optional(INTEGER),
        "costUsd": NUMBER,
        "input": {"description": "The input, if known."},
        "output": {"description": "The output."},
    },
    "required": ["at", "step"],
    "description": "One event; further fields depend on `step`.",
    "additionalProperties": True,
}


#: Keywords whose value is a schema, or a list of schemas.
_DEEPER = frozenset({"items", "anyOf", "oneOf", "allOf", "additionalProperties"})


class Components:
    """The schemas in the components of the OpenAPI document. Each `named` schema, and each schema with a title, is
    written once under its name."""

    def __init__(self, named: Mapping[str, Schema]) -> None:
        self._named = named
        self.schemas: dict[str, Schema] = {}

    def share(self, schema: Any) -> Any:
        """Replace each shared schema in `schema` by a reference to it."""
        if isinstance(schema, list):
            return [self.share(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        name = self._name_of(schema)
        if name is None:
            return self._parts(schema)
        if name not in self.schemas:
            self.schemas[name] = self._parts(_untitled(schema))
        return {"$ref": f"#/components/schemas/{name}"}

    def _name_of(self, schema: Schema) -> str | None:
        """Return the name of a shared schema, or None for a schema that is not shared. If two different schemas have
        the same title, only the first one is shared under this title."""
        title = schema.get("title")
        if not isinstance(title, str):
            return next((name for name, part in self._named.items() if part == schema), None)
        known = self._named.get(title)
        if known is not None:
            return title if known == _untitled(schema) else None
        parts = self._parts(_untitled(schema))
        return title if self.schemas.get(title, parts) == parts else None

    def _parts(self, schema: Schema) -> Schema:
        """Replace the shared schemas inside this schema by references. Properties are treated separately, because a
        property can have the name of a keyword."""
        found = {name: self.share(part) if name in _DEEPER else part for name, part in schema.items()}
        if "properties" in schema:
            found["properties"] = {name: self.share(part) for name, part in schema["properties"].items()}
        return found


def _untitled(schema: Schema) -> Schema:
    return {name: part for name, part in schema.items() if name != "title"}


def for_bodies(schema: Any) -> Any:
    """Return the schema for a request's body: additional fields are not allowed, and `null` equals an absent field."""
    if isinstance(schema, list):
        return [for_bodies(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: for_bodies(part) if name in _DEEPER else part for name, part in schema.items()}
    if "properties" in schema:
        required = schema.get("required", ())
        parts["properties"] = {
            name: for_bodies(part) if name in required else _or_null(for_bodies(part))
            for name, part in schema["properties"].items()
        }
        parts.setdefault("additionalProperties", False)
    return parts


def _or_null(schema: Schema) -> Schema:
    kinds = schema.get("anyOf", [schema])
    if not schema or {"type": "null"} in kinds:
        return schema
    about = {"description": schema["description"]} if "description" in schema and "anyOf" not in schema else {}
    return (
        {**schema, "anyOf": [*kinds, {"type": "null"}]}
        if "anyOf" in schema
        else {
            **about,
            "anyOf": [{name: part for name, part in schema.items() if name != "description"}, {"type": "null"}],
        }
    )
