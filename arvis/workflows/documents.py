"""Documents that do not come from the editor: the blank one, those that lie beside this, and texts of others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from arvis.domain.errors import Unprocessable
from arvis.workflows.document import normalise, read

#: What a workflow begins with that nobody has drawn yet.
BLANK: Mapping[str, Any] = {
    "nodes": [{"id": "start", "type": "start", "x": 0, "y": 0, "data": {}}],
    "connections": [],
}


def examples() -> list[dict[str, Any]]:
    """Each with slug, name, description and document, by their slugs."""
    found = [entry for entry in (files("arvis.workflows") / "examples").iterdir() if entry.name.endswith(".json")]
    return [_example(entry.name, entry.read_text("utf-8")) for entry in sorted(found, key=lambda each: each.name)]


def imported(text: str, form: str) -> Mapping[str, Any]:
    """What a text of this form (`json`, `yaml`, or `auto` to find out) holds, not yet normalised. Raises what `read` raises."""
    if form not in {"json", "yaml", "auto"}:
        raise Unprocessable("`form` must be json, yaml or auto.", fix="Leave it out to have it found out.")
    is_json = form == "json" or (form == "auto" and text.lstrip()[:1] in {"{", "["})
    found = read(text, "json" if is_json else "yaml")
    if not isinstance(found, Mapping):
        raise Unprocessable(
            "The text holds no workflow.", fix="A workflow is an object with `nodes` and `connections` (or `edges`)."
        )
    return found


def _example(file: str, text: str) -> dict[str, Any]:
    document = normalise(json.loads(text))
    slug = file.removesuffix(".json")
    return {
        "slug": slug,
        "name": str(document.get("name") or slug),
        "description": str(document.get("description") or ""),
        "document": document,
    }
