"""Nodes that wait for several branches: what can be proved of them from the drawing alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arvis.workflows.drawing import Drawing, Node
from arvis.workflows.field_checks import is_whole
from arvis.workflows.kinds import JOIN, JOIN_COUNT, MOST_CONNECTIONS
from arvis.workflows.rules import Problem, problem
from arvis.workflows.walks import components, reach

#: Join in a way of their own.
_OWN = frozenset({"merge", "loop"})
_APART = frozenset({"parallel", "merge"})
#: As good as without end: no join waits for more.
_MANY = MOST_CONNECTIONS + 1
#: After so many rounds of looking which joins go on, it counts as unproved.
_ROUNDS = 10


def check_joins(drawing: Drawing) -> Iterator[Problem]:
    joins = [
        node for node in drawing.nodes.values() if node.kind is not None and not node.begins and node.type not in _OWN
    ]
    arriving: dict[str, int] = {}
    for each in drawing.flow:
        arriving[each.target] = arriving.get(each.target, 0) + 1
    for node in joins:
        yield from _check_count(node, arriving.get(node.id, 0))
    counts = {node.id: int(node.data[JOIN_COUNT.name]) for node in joins if _waits_for_count(node)}
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


def _waits_for_count(node: Node) -> bool:
    return node.data.get(JOIN.name) == "n" and is_whole(node.data.get(JOIN_COUNT.name))


def _starved(drawing: Drawing, counts: Mapping[str, int]) -> list[str]:
    """The joins that something comes to, but never enough. First none of them lets anything through; one that then gets enough
    does, and so on until nothing changes."""
    closed = dict(counts)
    begins = [node.id for node in drawing.nodes.values() if node.begins]
    for _ in range(_ROUNDS):
        arrivals = [_arrivals(drawing, begin, closed) for begin in begins]
        most = {id_: max((each.get(id_, 0) for each in arrivals), default=0) for id_ in closed}
        opened = [id_ for id_ in closed if most[id_] >= closed[id_]]
        if not opened:
            return [id_ for id_ in closed if most[id_] > 0]
        for id_ in opened:
            del closed[id_]
    return []


def _arrivals(drawing: Drawing, begin: str, closed: Mapping[str, int]) -> dict[str, int]:
    """How often a run that begins there comes to each node at most, if nothing passes the closed joins."""
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
    """Groups of joins for all branches to which something comes for certain and at once, each of which leads to the others."""
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
        """What a run that begins there comes to whatever happens, without passing one of these joins. Where a `parallel` opens
        branches, joins tell them apart: nothing is said of what is behind one."""

        def ends(id_: str) -> bool:
            node = self.drawing.nodes[id_]
            unsure = node.kind is None or node.kind.chooses or node.type in _APART
            return id_ in self.every or unsure or node.data.get(JOIN.name) == "n"

        return reach([begin], self.drawing.ways, ends)
