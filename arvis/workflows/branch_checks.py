"""Loops and their bodies, what runs beside one another, and transfers, which may be in neither."""

from __future__ import annotations

from collections.abc import Iterator

from arvis.workflows.drawing import Drawing, Node
from arvis.workflows.kinds import LOOP_BACK
from arvis.workflows.rules import Problem, problem
from arvis.workflows.walks import backwards, reach

_BODY = "loop-start"
#: More `parallel` nodes within one another are not told apart.
_DEEPEST = 16
#: A node, and how many `parallel` nodes are open where a run comes to it.
_Step = tuple[str, int]


def check_branches(drawing: Drawing) -> Iterator[Problem]:
    for node in _reached(drawing, "loop"):
        yield from _check_loop(node, drawing)
    yield from _check_regions(drawing)


def _reached(drawing: Drawing, type_: str) -> list[Node]:
    return [node for node in drawing.nodes.values() if node.type == type_ and node.id in drawing.reached]


def _check_loop(loop: Node, drawing: Drawing) -> Iterator[Problem]:
    first = [each for each in drawing.leaving.get(loop.id, ()) if each.out == _BODY]
    body = reach((each.target for each in first if each.target != loop.id), drawing.ways, lambda id_: id_ == loop.id)
    body.discard(loop.id)
    returns = [each for each in drawing.live if each.target == loop.id and each.into == LOOP_BACK]
    inside = [each for each in returns if each.source in body or (each.source == loop.id and each.out == _BODY)]
    if not inside:
        yield problem("loop-without-return", node=loop.id, name=loop.name)
    for each in returns:
        if each not in inside and each.source in drawing.reached:
            other = drawing.nodes[each.source].name
            yield problem("loop-back-outside", node=loop.id, connection=each.id, name=loop.name, other=other)
    for transfer in _reached(drawing, "transfer"):
        if transfer.id in body:
            yield problem("transfer-in-loop", node=transfer.id, name=transfer.name, other=loop.name)


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
