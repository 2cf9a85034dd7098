"""Search along connections: reachable nodes, and cycles. Never recursive, because documents are untrusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

Ways = Mapping[str, Sequence[str]]


def reach(starts: Iterable[str], ways: Ways, stop: Callable[[str], bool] = lambda _node: False) -> set[str]:
    """Return these nodes and everything reachable from them; nothing is followed beyond a node at which `stop` holds."""
    found = set(starts)
    open_ = list(found)
    while open_:
        node = open_.pop()
        if stop(node):
            continue
        for target in ways.get(node, ()):
            if target not in found:
                found.add(target)
                open_.append(target)
    return found


def backwards(ways: Ways) -> dict[str, list[str]]:
    back: dict[str, list[str]] = {}
    for source, targets in ways.items():
        for target in targets:
            back.setdefault(target, []).append(source)
    return back


def components(ids: Sequence[str], ways: Ways) -> list[list[str]]:
    """Return the strongly connected components (Kosaraju), each before those that it leads to. Connections to nodes
    outside `ids` do not count."""
    inside = set(ids)
    back = backwards(ways)
    of: dict[str, int] = {}
    groups: list[list[str]] = []
    for root in reversed(_by_end(ids, inside, ways)):
        if root in of:
            continue
        of[root] = len(groups)
        group, open_ = [root], [root]
        while open_:
            for source in back.get(open_.pop(), ()):
                if source in inside and source not in of:
                    of[source] = len(groups)
                    group.append(source)
                    open_.append(source)
        groups.append(group)
    return groups


def _by_end(ids: Sequence[str], inside: set[str], ways: Ways) -> list[str]:
    """Return the nodes in the order in which a depth-first search leaves them."""
    seen: set[str] = set()
    ended: list[str] = []
    for root in ids:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, 0)]
        while path:
            node, at = path.pop()
            targets = ways.get(node, ())
            if at == len(targets):
                ended.append(node)
                continue
            path.append((node, at + 1))
            if targets[at] in inside and targets[at] not in seen:
                seen.add(targets[at])
                path.append((targets[at], 0))
    return ended


def circles(ids: Sequence[str], ways: Ways) -> list[list[str]]:
    """Return one cycle of each component that has one, as its nodes in order, with the first once more at the end. A
    cycle begins at its node that comes first in `ids`, and the cycles are sorted by that node."""
    found = []
    places = {node: place for place, node in enumerate(ids)}
    for group in components(ids, ways):
        first = min(group, key=lambda node: places[node])
        if len(group) > 1 or first in ways.get(first, ()):
            found.append(_circle(first, set(group), ways))
    return sorted(found, key=lambda circle: places[circle[0]])


def _circle(first: str, inside: set[str], ways: Ways) -> list[str]:
    """Return the shortest path from a node back to itself, by breadth-first search."""
    came: dict[str, str] = {}
    row = [first]
    while row:
        following = []
        for node in row:
            for target in ways.get(node, ()):
                if target == first:
                    return _path(first, node, came)
                if target in inside and target not in came:
                    came[target] = node
                    following.append(target)
        row = following
    return []


def _path(first: str, last: str, came: Mapping[str, str]) -> list[str]:
    path = [first, last] if last != first else [first]
    while path[-1] != first:
        path.append(came[path[-1]])
    if last == first:
        path.append(first)
    return path[::-1]
