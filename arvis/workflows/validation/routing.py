"""Check for conditions without content, and for agents that lack a tool which their node needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arvis.workflows.document.view import Drawing, Node
from arvis.workflows.validation.fields import KnownNames
from arvis.workflows.validation.rules import Problem, problem

SEARCH = "web_search"
#: Operators that need a value. `equals` may compare with an empty one, and the others examine the field alone.
_COMPARING = frozenset(
    {
        *("contains", "not_contains", "starts_with", "ends_with", "matches"),
        *("greater", "less", "at_least", "at_most"),
    }
)


def check_routing(drawing: Drawing) -> Iterator[Problem]:
    for node in drawing.nodes.values():
        if node.type == "if":
            yield from _check_if(node)
        elif node.type == "condition":
            for index, row in enumerate(_rows(node, "rules")):
                if isinstance(row, Mapping) and row.get("operator") in _COMPARING and _is_blank(row.get("value")):
                    yield problem("rule-empty", node=node.id, field=f"rules.{index}.value", name=node.name)


def _check_if(node: Node) -> Iterator[Problem]:
    rows = _rows(node, "conditions")
    if not rows:
        yield problem("conditions-missing", node=node.id, field="conditions", name=node.name)
    for index, row in enumerate(rows):
        if isinstance(row, Mapping) and _is_blank(row.get("value")):
            yield problem("condition-empty", node=node.id, field=f"conditions.{index}.value", name=node.name)


def check_searching(drawing: Drawing, known: KnownNames) -> Iterator[Problem]:
    """Check agents that search. An agent that a node does not name is unknown until the run begins."""
    for node in drawing.nodes.values():
        switches = node.data.get("tools") if node.type == "agent" else None
        if not isinstance(switches, Mapping) or switches.get(SEARCH) is not True:
            continue
        agent = _named(node.data.get("agent")) or _named(drawing.agent)
        absent = known.tools is not None and SEARCH not in known.tools
        if absent or (agent and known.searching is not None and agent not in known.searching):
            yield problem("web-search-missing", node=node.id, field=f"tools.{SEARCH}", name=node.name)


def _rows(node: Node, field: str) -> list[Any]:
    rows = node.data.get(field)
    return rows if isinstance(rows, list) else []


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip(_SPACE))


def _named(value: Any) -> str:
    return value if isinstance(value, str) else ""


_SPACE = " \t\r\n"
