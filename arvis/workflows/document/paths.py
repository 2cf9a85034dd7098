"""Walks along connections: what can be reached, and which nodes lie on a circle. Never recursive: documents are foreign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

Ways = Mapping[str, Sequence[str]]


def reach(starts: Iterable[str], ways: Ways, stop: Callable[[str], bool] = lambda _node: False) -> set[str]:
    """These and everything behind them; what is behind a node at which `stop` holds does not count."""
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
    """Nodes that reach one another belong together (Kosaraju); a component comes before those behind it. Ways out of `ids` do not count."""
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
    """The nodes in the order in which a depth-first walk leaves them."""
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
    """One circle of each component that has one, as the nodes in its order, the first once more at the end. It begins at the node
    that comes first in `ids`, and so are the circles ordered."""
    found = []
    places = {node: place for place, node in enumerate(ids)}
    for group in components(ids, ways):
        first = min(group, key=lambda node: places[node])
        if len(group) > 1 or first in ways.get(first, ()):
            found.append(_circle(first, set(group), ways))
    return sorted(found, key=lambda circle: places[circle[0]])


def _circle(first: str, inside: set[str], ways: Ways) -> list[str]:
    """The shortest way from a node back to itself, breadth first."""
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
