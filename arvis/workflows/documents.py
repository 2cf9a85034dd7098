"""Documents that do not come from the editor: the blank one, and texts of others. Those to begin with: `examples/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.errors import Unprocessable
from arvis.workflows.document import read

#: What a workflow begins with that nobody has drawn yet.
BLANK: Mapping[str, Any] = {
    "nodes": [{"id": "start", "type": "start", "x": 0, "y": 0, "data": {}}],
    "connections": [],
}


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
