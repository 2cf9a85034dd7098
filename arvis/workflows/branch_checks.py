"""Loops and their bodies, what runs beside one another, and transfers, which may be in neither."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from arvis.workflows.drawing import BODY, Drawing, Node
from arvis.workflows.field_checks import is_whole
from arvis.workflows.kinds import LOOP_BACK
from arvis.workflows.rules import Problem, problem
from arvis.workflows.walks import backwards, reach

#: More `parallel` nodes within one another are not told apart.
_DEEPEST = 16
#: What stands where a document says nothing of rounds or steps, and the most that are counted.
_ROUNDS, _STEPS, _COUNTED = 10, 1_000, 1_000_000_000
#: So many loops within one another are counted.
_MOST_INNER = 20
#: A node, and how many `parallel` nodes are open where a run comes to it.
_Step = tuple[str, int]


def check_branches(drawing: Drawing) -> Iterator[Problem]:
    for node in _reached(drawing, "loop"):
        yield from _check_loop(node, drawing)
    yield from _check_regions(drawing)


def _reached(drawing: Drawing, type_: str) -> list[Node]:
    return [node for node in drawing.nodes.values() if node.type == type_ and node.id in drawing.reached]


def _check_loop(loop: Node, drawing: Drawing) -> Iterator[Problem]:
    body = drawing.bodies[loop.id]
    returns = [each for each in drawing.live if each.target == loop.id and each.into == LOOP_BACK]
    inside = [each for each in returns if each.source in body or (each.source == loop.id and each.out == BODY)]
    if not inside:
        yield problem("loop-without-return", node=loop.id, name=loop.name)
    for each in returns:
        if each not in inside and each.source in drawing.reached:
            other = drawing.nodes[each.source].name
            yield problem("loop-back-outside", node=loop.id, connection=each.id, name=loop.name, other=other)
    for transfer in _reached(drawing, "transfer"):
        if transfer.id in body:
            yield problem("transfer-in-loop", node=transfer.id, name=transfer.name, other=loop.name)
    if inside:
        yield from _check_rounds(loop, body, drawing)


def _check_rounds(loop: Node, body: set[str], drawing: Drawing) -> Iterator[Problem]:
    """A loop that comes to the limit of steps by its rounds alone. What loops in its body repeat counts as often."""
    most = _whole(drawing.most_steps, _STEPS)
    loops = [drawing.nodes[each] for each in drawing.nodes if each in body and drawing.nodes[each].type == "loop"]
    inner = [(one, {one.id, *drawing.bodies.get(one.id, ())}) for one in loops[:_MOST_INNER]]
    steps = 1 + sum(prod(_rounds(one) for one, its in inner if each in its) for each in body)
    steps = min(steps * _rounds(loop), _COUNTED)
    if steps > most:
        yield problem("loop-over-steps", node=loop.id, field="maxIterations", name=loop.name, steps=steps, most=most)


def _rounds(loop: Node) -> int:
    return _whole(loop.data.get("maxIterations"), _ROUNDS)


def _whole(value: Any, otherwise: int) -> int:
    return value if is_whole(value) and value > 0 else otherwise


def _check_regions(drawing: Drawing) -> Iterator[Problem]:
    came = _walk(drawing)
    merges = [node.id for node in drawing.nodes.values() if node.type == "merge"]
    closing = reach(merges, backwards(drawing.ways))
    for node in drawing.nodes.values():
        depths = [depth for depth in range(_DEEPEST + 1) if (node.id, depth) in came]
        if node.type == "merge" and depths == [0]:
            yield problem("merge-without-parallel", node=node.id, name=node.name)
        if node.type == "parallel" and depths and node.id not in closing:
            yield problem("parallel-without-merge", node=node.id, name=node.name)
        if node.type == "transfer" and depths and depths[-1] > 0:
            opened = _opened_by((node.id, depths[-1]), came, drawing)
            yield problem("transfer-in-parallel", node=node.id, name=node.name, other=opened.name)


def _walk(drawing: Drawing) -> dict[_Step, _Step | None]:
    """Every way on which a run can come to a node, and the step before it."""
    came: dict[_Step, _Step | None] = {(node.id, 0): None for node in drawing.nodes.values() if node.begins}
    row = list(came)
    while row:
        following = []
        for step in row:
            depth = _behind(drawing.nodes[step[0]].type, step[1])
            for target in drawing.ways.get(step[0], ()):
                if (target, depth) not in came:
                    came[target, depth] = step
                    following.append((target, depth))
        row = following
    return came


def _behind(type_: str, depth: int) -> int:
    match type_:
        case "parallel":
            return min(depth + 1, _DEEPEST)
        case "merge":
            return max(depth - 1, 0)
        case _:
            return depth


def _opened_by(step: _Step, came: dict[_Step, _Step | None], drawing: Drawing) -> Node:
    """The innermost `parallel` that is open there: the last on the way that opened this depth."""
    before = came[step]
    while before is not None:
        if drawing.nodes[before[0]].type == "parallel" and before[1] < step[1]:
            return drawing.nodes[before[0]]
        before = came[before]
    return drawing.nodes[step[0]]
