"""Where runs begin, what they come to, and whether they can end."""

from __future__ import annotations

from collections.abc import Iterator

from arvis.workflows.choice_words import CALLED_TRIGGERS, UNSERVED_TRIGGERS
from arvis.workflows.connection_checks import choices
from arvis.workflows.drawing import Drawing, Node
from arvis.workflows.field_checks import Known
from arvis.workflows.rules import Problem, problem
from arvis.workflows.walks import circles, reach

#: A circle with one of these may end, or takes a person or time in each of its rounds.
_HOLDS = frozenset({"if", "approval", "router", "condition", "loop", "wait", "user-input"})
#: Those that take one of their ways and have none.
_BRANCHES = frozenset({"if", "router", "condition"})


def check_flow(drawing: Drawing, known: Known) -> Iterator[Problem]:
    yield from _check_begins(drawing)
    yield from _check_triggers(drawing)
    yield from _check_served(drawing, known)
    for node in drawing.nodes.values():
        if node.id in drawing.reached and node.id not in drawing.leaving:
            if node.type in _BRANCHES:
                yield problem("branch-missing", node=node.id, name=node.name, choices=choices(node))
            if node.type == "approval":
                yield problem("approval-branch-missing", node=node.id, name=node.name, choices=choices(node))
    yield from _check_reached(drawing)
    yield from _check_circles(drawing)


def _check_begins(drawing: Drawing) -> Iterator[Problem]:
    begins = [node for node in drawing.nodes.values() if node.begins]
    starts = [node for node in begins if node.type == "start"]
    if not begins:
        yield problem("start-missing")
    for node in starts[1:]:
        yield problem("start-twice", node=node.id)
    connected = {each.source for each in drawing.flow}
    for node in begins:
        if node.id not in connected:
            yield problem("start-unconnected", node=node.id, name=node.name)
        elif node.id not in drawing.leaving:
            yield problem("start-reaches-nothing", node=node.id, name=node.name)


def _check_triggers(drawing: Drawing) -> Iterator[Problem]:
    seen: dict[tuple[str, ...], Node] = {}
    for node in drawing.nodes.values():
        if node.type != "trigger":
            continue
        events = tuple(_said(node, name) for name in ("kind", "platform", "channel", "words"))
        if events in seen:
            yield problem("trigger-twice", node=node.id, name=seen[events].name, other=node.name)
        else:
            seen[events] = node


def _check_served(drawing: Drawing, known: Known) -> Iterator[Problem]:
    """Triggers that nothing begins a run at, and those that wait for a row which names this workflow."""
    for node in drawing.nodes.values():
        kind = _said(node, "kind") if node.type == "trigger" else ""
        if kind in UNSERVED_TRIGGERS:
            yield problem("trigger-unserved", node=node.id, field="kind", name=node.name, value=kind)
        elif kind in CALLED_TRIGGERS and known.begun is not None and kind not in known.begun:
            what, how = CALLED_TRIGGERS[kind]
            yield problem("trigger-idle", node=node.id, field="kind", name=node.name, what=what, how=how)


def _said(node: Node, field: str) -> str:
    value = node.data.get(field)
    return value if isinstance(value, str) else ""


def _check_reached(drawing: Drawing) -> Iterator[Problem]:
    """Subagents are reached through their agents."""
    used = reach(drawing.reached, drawing.subagents)
    for node in drawing.nodes.values():
        if node.id not in used and not node.begins:
            yield problem("unreachable", node=node.id, name=node.name)


def _check_circles(drawing: Drawing) -> Iterator[Problem]:
    restless = [node.id for node in drawing.nodes.values() if node.id in drawing.reached and node.type not in _HOLDS]
    for circle in circles(restless, drawing.ways):
        yield problem("cycle-unbounded", node=circle[0], path=drawing.path(circle))
