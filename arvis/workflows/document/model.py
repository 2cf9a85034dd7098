"""Convert every form of a document to the canonical form that all other code reads, and read and write files.

Three forms are accepted: the canonical form (`kinds.py`), an older form with fewer fields, and the form of another
program's playbooks (`playbooks.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from arvis.config.yaml_text import Document as YamlText
from arvis.config.yaml_text import UnreadableText, write_text
from arvis.domain.errors import TooLarge, Unprocessable
from arvis.domain.text import storable_json
from arvis.workflows.document import kinds, playbooks

DocumentForm = Literal["json", "yaml"]

#: The maximum number of brackets and commas in the JSON of a document, because each of them makes the checks slower.
MOST_MARKS = 100_000
#: Whole numbers up to this have the same value in JSON, in Python and in the editor.
_LARGEST = 2**53
#: All programming languages write a number between these limits with the same digits, without an exponent.
_LEAST, _MOST = 1e-4, 1e15
_ORDER = ("schema", "name", "description", "settings", "nodes", "connections")
_PART_ORDER = ("id", "type", "x", "y", "label", "data", "source", "sourceHandle", "target", "targetHandle")


def normalise(raw: Any) -> dict[str, Any]:
    """Return the document in the canonical form. This function raises no errors: a part that cannot be read is returned
    unchanged, and `check` reports the part. A canonical document is returned unchanged. Unknown fields are kept. The
    result may share parts with `raw`, which is not changed."""
    given = dict(raw) if isinstance(raw, Mapping) else {"nodes": raw}
    drawn_elsewhere = "edges" in given and "connections" not in given
    if drawn_elsewhere:
        given["connections"] = given.pop("edges")
    settings, nodes = given.get("settings"), given.get("nodes", [])
    document = {
        **given,
        "schema": given.get("schema", kinds.SCHEMA),
        "settings": {} if settings is None else _whole(settings) if isinstance(settings, Mapping) else settings,
        "nodes": [_node(node) for node in nodes] if isinstance(nodes, list) else nodes,
        "connections": given.get("connections", []),
    }
    document["connections"] = _connections(document["connections"], _types(document["nodes"]))
    return playbooks.with_its_rules(document) if drawn_elsewhere else document


def _node(node: Any) -> Any:
    if not isinstance(node, Mapping):
        return node
    known = dict(node)
    position = known.get("position")
    if isinstance(position, Mapping):
        del known["position"]
        known = {"x": position.get("x", 0), "y": position.get("y", 0), **known}
    if known.get("data") is None:
        known["data"] = {}
    known = playbooks.node(known)
    if known.get("type") == "input":
        known["type"] = "approval"
    if isinstance(known["data"], Mapping):
        known["data"] = _whole(_values(_conditions(known["data"])) if known.get("type") == "if" else known["data"])
    return _whole({"x": 0, "y": 0, **known})


def _conditions(data: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the field `condition` of older documents, which contains one condition, by the list `conditions`."""
    known = dict(data)
    old = known.get("condition")
    if isinstance(known.get("conditions"), list) or not isinstance(old, (str, Mapping)):
        return known
    del known["condition"]
    row = {"operator": "contains", "value": old}
    known["conditions"] = [row if isinstance(old, str) else {**row, "value": "", **old}]
    return known


def _values(data: dict[str, Any]) -> dict[str, Any]:
    """Convert the value of each condition to text. A document may contain a number, or a truth value, because YAML
    reads `yes` and `no` as truth values."""
    rows = data.get("conditions")
    if not isinstance(rows, list):
        return data
    return {**data, "conditions": [_compared(each) if isinstance(each, Mapping) else each for each in rows]}


def _compared(row: Mapping[str, Any]) -> Mapping[str, Any]:
    value = row.get("value")
    if isinstance(value, bool):
        return {**row, "value": "true" if value else "false"}
    if isinstance(value, int | float) and (value == 0 or _LEAST <= abs(value) < _MOST):
        return {**row, "value": str(int(value) if value == int(value) else value)}
    return row


def _whole(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert numbers such as 2.0 to 2, because other programming languages do not distinguish them."""
    return {name: int(value) if _is_whole(value) else value for name, value in values.items()}


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) <= _LARGEST


def _types(nodes: Any) -> dict[str, Any]:
    """Return the type of each node that has an id. If several nodes have the same id, the first one counts."""
    types: dict[str, Any] = {}
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, Mapping) and isinstance(node.get("id"), str):
            types.setdefault(node["id"], node.get("type"))
    return types


def _connections(connections: Any, types: Mapping[str, Any]) -> Any:
    if not isinstance(connections, list):
        return connections
    free = _free_ids(connections)
    return [_connection(each, free, types) if isinstance(each, Mapping) else each for each in connections]


def _free_ids(connections: list[Any]) -> Iterator[str]:
    taken = {each["id"] for each in connections if isinstance(each, Mapping) and isinstance(each.get("id"), str)}
    number = 0
    while True:
        number += 1
        if f"c{number}" not in taken:
            yield f"c{number}"


def _connection(each: Mapping[str, Any], free: Iterator[str], types: Mapping[str, Any]) -> dict[str, Any]:
    known = dict(each)
    if known.get("id") is None:
        known["id"] = next(free)
    source = known.get("source")
    out = _handle(known.get("sourceHandle"), kinds.OUTPUTS)
    into = _handle(known.get("targetHandle"), kinds.INPUTS)
    if out == "true" and isinstance(source, str) and types.get(source) == "if":
        out = "condition-0"
    if out == kinds.SUBAGENT and into == "subagent-target":
        into = ""
    return {**known, "sourceHandle": out, "targetHandle": into}


def _handle(handle: Any, plain: frozenset[str]) -> Any:
    return "" if handle is None or (isinstance(handle, str) and handle in plain) else handle


def read(text: str, form: DocumentForm) -> Any:
    """Return the content of a file, not yet normalised. Values of types that JSON does not have, such as dates, are
    returned as text. Raise `TooLarge` if the text is too long. Raise `Unprocessable`, with the line if it is known, for
    content that cannot be read, for repeated names and for YAML's aliases."""
    if len(text) > kinds.MOST_BYTES or len(text.encode(errors="surrogatepass")) > kinds.MOST_BYTES:
        raise TooLarge(
            f"The document has more than {kinds.MOST_BYTES} bytes",
            why="Larger documents are not read.",
            fix="Divide it into several workflows, or shorten its texts.",
        )
    try:
        return storable_json(_from_json(text) if form == "json" else _from_yaml(text))
    except RecursionError:
        raise _unreadable("it is nested too deeply", f"Nest it at most {kinds.MOST_DEPTH} levels deep.") from None


def _from_json(text: str) -> Any:
    if sum(text.count(mark) for mark in "[{,") > MOST_MARKS:
        raise _unreadable("it contains too many values", "Divide it into several workflows.")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_number)
    except json.JSONDecodeError as error:
        raise _unreadable(f"it is not valid JSON: {error.msg}", "Fix the JSON there.", error.lineno) from None
    except _Twice as twice:
        raise _twice(twice, text) from None
    except UnreadableText as error:
        raise _unreadable(error.text, error.fix, error.line) from None


class _Twice(Exception):
    """A name that occurs twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise _Twice(name)
        values[name] = value
    return values


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise UnreadableText(f"`{text[:20]}` is not a number that documents may contain", "Write a smaller number.")
    return value


def _number(text: str) -> float:
    """Return a whole number up to `_LARGEST` as `int`, and a larger one as the nearest float."""
    value = _finite(text)
    return int(text) if abs(value) <= _LARGEST else value


def _twice(twice: _Twice, text: str) -> Unprocessable:
    """Return the error for a repeated name. The YAML parser finds the line of the name, because most JSON is also
    YAML."""
    try:
        found = YamlText(text)
    except UnreadableText:
        found = None
    if found is not None and found.problems:
        return _first_twin(found)
    return _unreadable(f"`{str(twice)[:60]}` is written twice in one object", "Keep one of the two.")


def _first_twin(found: YamlText) -> Unprocessable:
    twin = found.problems[0]
    return _unreadable(f"`{str(twin.path[-1])[:60]}` {twin.text}", twin.fix, found.line_of(twin.path))


def _from_yaml(text: str) -> Any:
    try:
        found = YamlText(text)
    except UnreadableText as error:
        raise _unreadable(error.text, error.fix, error.line) from None
    if found.problems:
        raise _first_twin(found)
    return json.loads(json.dumps(found.values), parse_constant=_not_a_number, parse_int=_number)


def _not_a_number(text: str) -> float:
    raise _unreadable(f"`{text}` is not a number that documents may contain", "Put it in quotes if it should be text.")


def _unreadable(why: str, fix: str, line: int | None = None) -> Unprocessable:
    where = "" if line is None else f", line {line}"
    return Unprocessable(f"The document cannot be read{where}: {why}.", fix=fix, code="unreadable_document")


def write(document: Mapping[str, Any], form: DocumentForm) -> str:
    """Return the content of a file for this document; `read` returns the same document from it."""
    ordered = _in_order(document)
    return write_text(ordered) if form == "yaml" else json.dumps(ordered, ensure_ascii=False, indent=2) + "\n"


def _in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with reordered keys: the keys that people read first are at the beginning."""
    known = {**{name: document[name] for name in _ORDER if name in document}, **document}
    for name in ("nodes", "connections"):
        if isinstance(known.get(name), list):
            known[name] = [_part_in_order(each) if isinstance(each, Mapping) else each for each in known[name]]
    return known


def _part_in_order(part: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: part[name] for name in _PART_ORDER if name in part}, **part}


#: The document of a new workflow.
BLANK: Mapping[str, Any] = {
    "nodes": [{"id": "start", "type": "start", "x": 0, "y": 0, "data": {}}],
    "connections": [],
}


def imported(text: str, form: str) -> Mapping[str, Any]:
    """Return the content of an imported text, not yet normalised. `form` is `json`, `yaml`, or `auto` to detect the
    format. Raise the errors of `read`, and `Unprocessable` if the content is no object."""
    if form not in {"json", "yaml", "auto"}:
        raise Unprocessable("`form` must be json, yaml or auto.", fix="Without `form`, Arvis detects the format.")
    is_json = form == "json" or (form == "auto" and text.lstrip()[:1] in {"{", "["})
    found = read(text, "json" if is_json else "yaml")
    if not isinstance(found, Mapping):
        raise Unprocessable(
            "The text contains no workflow.", fix="A workflow is an object with `nodes` and `connections` (or `edges`)."
        )
    return found
