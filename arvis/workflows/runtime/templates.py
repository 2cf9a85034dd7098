"""Templates in the texts of nodes: `{{PREVIOUS_OUTPUT}}`, `{{trigger}}`, `{{Label}}`, `{{Label.result}}`,
and paths into outputs that are JSON (`{{Label.result.order.total}}`).

A template with an unknown name stays unchanged. Inserted text is not searched for templates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from arvis.domain.markup import escape
from arvis.domain.regex import regex
from arvis.domain.workflows import OUTPUT, STATE, as_text
from arvis.workflows.runtime.token import CUT, MOST_FILLED, Token

#: A function that returns the value of a template's name; None for an unknown name.
Known = Callable[[str], str | None]
#: A part of a filled text with the name of its template; None if the author of the text wrote the part.
Part = tuple[str, str | None]

_PLACE = regex(r"\{\{([^{}]{1,300})\}\}")
PREVIOUS, TRIGGER = "PREVIOUS_OUTPUT", "trigger"
_RESULT = "result"
#: The result for a path without a value; null is a value.
MISSING = object()


def fill(text: str, known: Known, most: int = MOST_FILLED) -> str:
    """Replace the templates in a text. At most `most` characters are inserted, so that a text that inserts an output
    many times does not fill the memory. Each name is looked up once."""
    return "".join(part for part, _ in parts(text, known, most))


def parts(text: str, known: Known, most: int = MOST_FILLED) -> list[Part]:
    """Return the parts of the filled text."""
    kept, end = most, 0
    values, made = dict[str, str | None](), list[Part]()
    for found in _PLACE.finditer(text):
        if kept <= 0:
            return [*made, (text[end : found.start()], None), (CUT, None)]
        name = found[1].strip()
        if name not in values:
            values[name] = known(name)
        value = values[name]
        put = found[0] if value is None else value
        made += [(text[end : found.start()], None), (put[:kept], None if value is None else name)]
        end = found.end()
        kept -= len(put)
    if kept < 0:
        made.append((CUT, None))
    return [*made, (text[end:], None)]


def fill_all(value: Any, known: Known) -> Any:
    """Replace the templates in all texts of a value, at any depth. At most `MOST_FILLED` characters are inserted into
    all texts together."""
    room = MOST_FILLED

    def put(each: Any) -> Any:
        nonlocal room
        match each:
            case str():
                filled = fill(each, known, room)
                room = max(room - len(filled), 0)
                return filled
            case Mapping():
                return {name: put(one) for name, one in each.items()}
            case list():
                return [put(one) for one in each]
        return each

    return put(value)


def as_data(known: Known, *, tainted: bool) -> Known:
    """Return a lookup like `known` for text that becomes instructions. The lookup escapes the values, so that no value
    can look like a part of the instructions. If other people may have written the values (`tainted`), it also quotes
    each value."""

    def quoted(name: str) -> str | None:
        value = known(name)
        if value is None or not tainted:
            return None if value is None else escape(value)
        lines = escape(value).replace("”", '"').splitlines()
        return f"“{''.join(lines)}”" if len(lines) < 2 else "\n".join(["", *(f"> {line}" for line in lines), ""])  # noqa: PLR2004

    return quoted


def known_in(state: Mapping[str, Any], token: Token) -> Known:
    """Return the lookup for the templates of a node: the output in the node's token, the trigger of the run, and the
    newest output of every label. An output in JSON is parsed only once for all paths."""
    newest = _newest(state)
    read = dict[str, Any]()

    def known(name: str) -> str | None:
        if name == PREVIOUS:
            return as_text(token.output)
        if name == TRIGGER:
            return str(state[STATE].get("trigger", ""))
        label, path = _label_in(name, newest)
        if label is None:
            return None
        if label not in read and path:
            read[label] = data_of(newest[label]["output"])
        return _part(newest[label], path, read.get(label))

    return known


def place_in(name: str, state: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the id of the node to whose output a name refers ("" for an unknown name), and True if the name refers to a
    part of the output."""
    label, path = _label_in(name, newest := _newest(state))
    if label is None:
        return "", False
    node = next(key for key, kept in state.items() if kept is newest[label])
    return node.removeprefix(OUTPUT), path not in ([], [_RESULT])


def _newest(state: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return, by label, the newest stored output of a node with this label."""
    found = dict[str, Mapping[str, Any]]()
    for name, kept in state.items():
        if name.startswith(OUTPUT):
            label = kept.get("label")
            if label not in found or int(kept["at"]) > int(found[label]["at"]):
                found[label] = kept
    return found


def _label_in(name: str, newest: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Split a name into a label and a path; the label is None if the name begins with no known label. A label may
    contain dots, so the longest matching label counts."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        label = ".".join(parts[:end]).strip()
        if label in newest:
            return label, [part.strip() for part in parts[end:]]
    return None, []


def _part(kept: Mapping[str, Any], path: list[str], data: Any) -> str | None:
    rest = path[1:] if path[:1] == [_RESULT] else path
    if not path or not rest:
        return as_text(kept["output"])
    value = _below(data, rest)
    return None if value is MISSING else as_text(value)


def at_path(output: Any, path: list[str]) -> Any:
    """Return the value at a path of names and numbers. The output is JSON, or a text that contains JSON. Return
    `MISSING` if there is no such value."""
    return _below(data_of(output), path)


def _below(value: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def data_of(output: Any) -> Any:
    """Return the object or list that a text contains as JSON, and any other output unchanged."""
    if not isinstance(output, str):
        return output
    text = output.strip()
    if text[:1] not in {"{", "["}:
        return output
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return output
