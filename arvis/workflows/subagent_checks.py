"""Agents that are tools of other agents (seed 002)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arvis.workflows.drawing import Connection, Drawing, Node
from arvis.workflows.rules import Problem, problem
from arvis.workflows.walks import circles

_AGENT = "agent"


def check_subagents(drawing: Drawing) -> Iterator[Problem]:
    for each in drawing.delegations:
        yield from _check_one(each, drawing.nodes[each.source], drawing.nodes[each.target])
    yield from _check_targets(drawing)
    between = {id_: [to for to in targets if to != id_] for id_, targets in drawing.subagents.items()}
    for circle in circles(list(drawing.nodes), between):
        yield problem("subagent-cycle", node=circle[0], path=drawing.path(circle))


def _check_one(each: Connection, source: Node, target: Node) -> Iterator[Problem]:
    def found(code: str, node: Node, field: str | None, other: Node | None = None) -> Problem:
        named = {} if other is None else {"other": other.name}
        return problem(code, node=node.id, connection=each.id, field=field, name=node.name, **named)

    if source.type != _AGENT:
        yield found("subagent-source", source, "source")
    elif not _switched_on(source):
        yield found("subagent-off", source, "tools.subagents")
    if target.type != _AGENT:
        yield found("subagent-target", target, "target", source)
    elif each.into != "":
        yield found("subagent-handle", source, "targetHandle", target)
    if source.id == target.id:
        yield found("subagent-self", source, "target")


def _switched_on(node: Node) -> bool:
    tools = node.data.get("tools")
    return isinstance(tools, Mapping) and tools.get("subagents") is True


def _check_targets(drawing: Drawing) -> Iterator[Problem]:
    """In the order of the nodes. Twins of one connection are one parent."""
    parents: dict[str, set[str]] = {}
    for each in drawing.delegations:
        parents.setdefault(each.target, set()).add(each.source)
    steps = {end for each in drawing.flow for end in (each.source, each.target)}
    for node in drawing.nodes.values():
        if len(parents.get(node.id, ())) > 1:
            yield problem("subagent-parents", node=node.id, name=node.name)
        if node.id in parents and node.id in steps:
            yield problem("subagent-flow", node=node.id, name=node.name)
