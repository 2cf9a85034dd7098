"""Shapes as the OpenAPI document shows them: shared ones under their name, bodies as strictly as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.web.schemas import Schema

#: Keywords whose value is a shape, or a list of shapes.
_DEEPER = frozenset({"items", "anyOf", "oneOf", "allOf", "additionalProperties"})


class Components:
    """`named` shapes, and those that have a title, stand once, under their name, wherever they are used."""

    def __init__(self, named: Mapping[str, Schema]) -> None:
        self._named = named
        self.schemas: dict[str, Schema] = {}

    def share(self, schema: Any) -> Any:
        """The shape with references to the shared ones in it."""
        if isinstance(schema, list):
            return [self.share(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        name = self._name_of(schema)
        if name is None:
            return self._parts(schema)
        if name not in self.schemas:
            self.schemas[name] = self._parts(schema)
        return {"$ref": f"#/components/schemas/{name}"}

    def _name_of(self, schema: Schema) -> str | None:
        """None, too, for a title that another shape has."""
        for name, shape in self._named.items():
            if shape == schema:
                return name
        title = schema.get("title")
        if not isinstance(title, str) or title in self._named:
            return None
        parts = self._parts(schema)
        return title if self.schemas.get(title, parts) == parts else None

    def _parts(self, schema: Schema) -> Schema:
        """Fields are named by the shape: one of them may be called like a keyword."""
        found = {name: self.share(part) if name in _DEEPER else part for name, part in schema.items()}
        if "properties" in schema:
            found["properties"] = {name: self.share(shape) for name, shape in schema["properties"].items()}
        return found


def for_bodies(schema: Any) -> Any:
    """A shape as bodies are read by it: nothing else is taken, and `null` is the same as absent."""
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
