"""Templates in the texts of nodes (seed 002, behaviour.md 2.7): `{{PREVIOUS_OUTPUT}}`, `{{trigger}}`, `{{Label}}`, `{{Label.result}}`,
`{{Label.threadId}}`, and paths into outputs that are JSON (`{{Label.result.order.total}}`). What nobody knows stays as it is; what
was put in is not read again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from arvis.workflows.carried import OUTPUT, WORKFLOW, Carried, as_text

#: By name: what stands behind it. None in the place of a value that is not known.
Known = Callable[[str], str | None]

_PLACE = re.compile(r"\{\{([^{}]{1,300})\}\}")
PREVIOUS, TRIGGER = "PREVIOUS_OUTPUT", "trigger"
_RESULT, _THREAD = "result", "threadId"
#: Stands for "there is nothing at this path", which is something else than null.
MISSING = object()


def fill(text: str, known: Known) -> str:
    """The text with what is known in the places of its templates."""

    def put(found: re.Match[str]) -> str:
        value = known(found[1].strip())
        return found[0] if value is None else value

    return _PLACE.sub(put, text)


def known_in(state: Mapping[str, Any], carried: Carried) -> Known:
    """What a node may speak of: what came along its connection, what began the run, and the newest output of every node by label."""

    def known(name: str) -> str | None:
        if name == PREVIOUS:
            return as_text(carried.output)
        if name == TRIGGER:
            return str(state[WORKFLOW].get("trigger", ""))
        return _of_node(state, name)

    return known


def _of_node(state: Mapping[str, Any], name: str) -> str | None:
    """A label may have points in it, so the longest one that fits counts."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        kept = _labelled(state, ".".join(parts[:end]).strip())
        if kept is not None:
            return _part(kept, [part.strip() for part in parts[end:]])
    return None


def _labelled(state: Mapping[str, Any], label: str) -> Mapping[str, Any] | None:
    """The newest that a node of this label has kept."""
    kept = [each for name, each in state.items() if name.startswith(OUTPUT) and each.get("label") == label]
    return max(kept, key=lambda each: int(each["at"]), default=None)


def _part(kept: Mapping[str, Any], path: list[str]) -> str | None:
    if path[:1] == [_THREAD]:
        thread = kept.get(_THREAD)
        return str(thread) if thread is not None and len(path) == 1 else None
    rest = path[1:] if path[:1] == [_RESULT] else path
    if not path or not rest:
        return as_text(kept["output"])
    value = at_path(kept["output"], rest)
    return None if value is MISSING else as_text(value)


def at_path(output: Any, path: list[str]) -> Any:
    """What stands at a path of names and numbers in an output that is JSON, or text that holds some; else `MISSING`."""
    value = data_of(output)
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def data_of(output: Any) -> Any:
    """The output, or the object or list that its text is."""
    if not isinstance(output, str):
        return output
    text = output.strip()
    if text[:1] not in {"{", "["}:
        return output
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return output
