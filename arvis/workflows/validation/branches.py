"""Check joins, subagents, loops, parallel branches and transfers. A transfer must not be inside a loop or a parallel
branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.workflows.document.kinds import JOIN, JOIN_COUNT, LOOP_BACK, MOST_CONNECTIONS
from arvis.workflows.document.view import BODY, Connection, Drawing, Node, backwards, circles, components, reach
from arvis.workflows.validation.fields import is_whole
from arvis.workflows.validation.rules import Problem, problem

#: The kinds of nodes that have their own rule for joining branches.
_OWN = frozenset({"merge", "loop"})
_APART = frozenset({"parallel", "merge"})
#: The number of arrivals that means "without limit". It is larger than the number for which any join can wait.
_MANY = MOST_CONNECTIONS + 1
#: Maximum rounds of the search for joins that open. If the search needs more rounds, no problem is reported.
_JOIN_ROUNDS = 10


def check_joins(drawing: Drawing) -> Iterator[Problem]:
    joins = [
        node for node in drawing.nodes.values() if node.kind is not None and not node.begins and node.type not in _OWN
    ]
    arriving: dict[str, int] = {}
    for each in drawing.flow:
        arriving[each.target] = arriving.get(each.target, 0) + 1
    for node in joins:
        yield from _check_count(node, arriving.get(node.id, 0))
    counts = {
        node.id: int(node.data[JOIN_COUNT.name])
        for node in joins
        if node.data.get(JOIN.name) == "n" and is_whole(node.data.get(JOIN_COUNT.name))
    }
    if counts:
        starved = _starved(drawing, counts)
        if starved:
            yield problem("join-starved", node=starved[0], field=JOIN.name, names=drawing.names(starved))
    every = [node.id for node in joins if node.data.get(JOIN.name) == "all"]
    for group in _deadlocks(drawing, every):
        yield problem("join-deadlock", node=group[0], field=JOIN.name, names=drawing.names(group))


def _check_count(node: Node, arriving: int) -> Iterator[Problem]:
    if node.data.get(JOIN.name) != "n":
        return
    count = node.data.get(JOIN_COUNT.name)
    if count is None:
        yield problem("join-count-missing", node=node.id, field=JOIN_COUNT.name, name=node.name)
    elif is_whole(count) and count > arriving:
        yield problem("join-count-high", node=node.id, field=JOIN_COUNT.name, name=node.name, most=arriving)


def _starved(drawing: Drawing, counts: Mapping[str, int]) -> list[str]:
    """Return the joins that can receive branches, but never as many as they wait for. The search begins with every join
    closed, and opens the joins that receive enough branches until no further join opens."""
    closed = dict(counts)
    begins = [node.id for node in drawing.nodes.values() if node.begins]
    for _ in range(_JOIN_ROUNDS):
        arrivals = [_arrivals(drawing, begin, closed) for begin in begins]
        most = {id_: max((each.get(id_, 0) for each in arrivals), default=0) for id_ in closed}
        opened = [id_ for id_ in closed if most[id_] >= closed[id_]]
        if not opened:
            return [id_ for id_ in closed if most[id_] > 0]
        for id_ in opened:
            del closed[id_]
    return []


def _arrivals(drawing: Drawing, begin: str, closed: Mapping[str, int]) -> dict[str, int]:
    """Return, for each node, how often a run from this start can arrive at it if no branch passes a closed join."""
    ways = {id_: targets for id_, targets in drawing.ways.items() if id_ not in closed}
    inside = reach([begin], ways)
    arrivals = {begin: 1}
    for group in components([id_ for id_ in drawing.nodes if id_ in inside], ways):
        if len(group) > 1 or group[0] in ways.get(group[0], ()):
            arrivals.update(dict.fromkeys(group, _MANY))
        for id_ in group:
            for target in ways.get(id_, ()):
                arrivals[target] = min(arrivals.get(target, 0) + arrivals[id_], _MANY)
    return arrivals


def _deadlocks(drawing: Drawing, every: list[str]) -> list[list[str]]:
    """Return groups of `all` joins that wait for one another: each leads to the others, and all of them certainly
    receive a branch at the same time."""
    if len(every) < 2:  # noqa: PLR2004 - one cannot wait for another
        return []
    waiting = _Waiting(drawing, frozenset(every))
    found = []
    for group in components(list(drawing.nodes), drawing.ways):
        joins = [id_ for id_ in every if id_ in set(group)]
        for begin in (node.id for node in drawing.nodes.values() if node.begins):
            certain = waiting.certain(begin) if len(joins) > 1 else set()
            stuck = [id_ for id_ in joins if id_ in certain]
            if len(stuck) > 1:
                found.append(stuck)
                break
    return sorted(found, key=lambda stuck: every.index(stuck[0]))


@dataclass(frozen=True, slots=True)
class _Waiting:
    drawing: Drawing
    every: frozenset[str]

    def certain(self, begin: str) -> set[str]:
        """Return the nodes that a run from this start certainly reaches without passing a join of `every`. The search
        also ends at each `parallel`, because joins keep its branches apart."""

        def ends(id_: str) -> bool:
            node = self.drawing.nodes[id_]
            unsure = node.kind is None or node.kind.chooses or node.type in _APART
            return id_ in self.every or unsure or node.data.get(JOIN.name) == "n"

        return reach([begin], self.drawing.ways, ends)


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

    tools = source.data.get("tools")
    if source.type != _AGENT:
        yield found("subagent-source", source, "source")
    elif not isinstance(tools, Mapping) or tools.get("subagents") is not True:
        yield found("subagent-off", source, "tools.subagents")
    if target.type != _AGENT:
        yield found("subagent-target", target, "target", source)
    elif each.into != "":
        yield found("subagent-handle", source, "targetHandle", target)
    if source.id == target.id:
        yield found("subagent-self", source, "target")


def _check_targets(drawing: Drawing) -> Iterator[Problem]:
    """Report nodes that are subagents of several agents, and subagents that are also steps of the flow. Two identical
    connections count as one."""
    parents: dict[str, set[str]] = {}
    for each in drawing.delegations:
        parents.setdefault(each.target, set()).add(each.source)
    steps = {end for each in drawing.flow for end in (each.source, each.target)}
    for node in drawing.nodes.values():
        if len(parents.get(node.id, ())) > 1:
            yield problem("subagent-parents", node=node.id, name=node.name)
        if node.id in parents and node.id in steps:
            yield problem("subagent-flow", node=node.id, name=node.name)


#: The maximum depth of nested `parallel` nodes that is counted. A deeper node counts as a node of this depth.
_DEEPEST = 16
#: The default rounds of a loop, the default steps of a run, and the largest number of steps that is reported.
_ROUNDS, _STEPS, _COUNTED = 10, 1_000, 1_000_000_000
#: The check of a loop counts the rounds of at most this number of inner loops.
_MOST_INNER = 20
#: A node, and the number of open regions of `parallel` nodes when a run arrives at the node.
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
    """Report a loop whose rounds alone can exceed the run's limit of steps. The rounds of inner loops are counted,
    too."""
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
    """Return every step that a run can reach, with the step before it (None at the starts)."""
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
    """Return the innermost `parallel` that is open at a step: the last one that opened this depth on the path to the
    step."""
    before = came[step]
    while before is not None:
        if drawing.nodes[before[0]].type == "parallel" and before[1] < step[1]:
            return drawing.nodes[before[0]]
        before = came[before]
    return drawing.nodes[step[0]]
