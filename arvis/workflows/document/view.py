"""A read-only view of a canonical document. It provides the nodes by their ids, and searches for reachable nodes and
for cycles.

No search is recursive, because documents are untrusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.workflows.document.kinds import ID, KINDS, SUBAGENT, Kind

_ID = regex(ID)
#: The output of a loop that leads into its body.
BODY = "loop-start"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the document."""

    id: str
    type: str
    #: None: the type is unknown.
    kind: Kind | None
    #: The label (`label_of`).
    name: str
    #: Empty if it cannot be read.
    data: Mapping[str, Any]

    @property
    def begins(self) -> bool:
        return self.kind is not None and self.kind.begins


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection between two existing nodes."""

    #: None: the id cannot be read.
    id: str | None
    source: str
    target: str
    out: str
    into: str


class Drawing:
    """The nodes and connections of a document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        #: The nodes with a usable id, in the order of the document. If several nodes have the same id, only the first
        #: of them is used.
        self.nodes: dict[str, Node] = {}
        for raw in _list(document.get("nodes")):
            if isinstance(raw, Mapping) and usable_id(raw.get("id")):
                self.nodes.setdefault(raw["id"], _node(raw))
        settings = document.get("settings")
        known = settings if isinstance(settings, Mapping) else {}
        self.follows_plain = known.get("unlabelled") == "follow"
        self.agent = known.get("agent")
        self.most_steps = known.get("maxSteps")
        #: The connections between `nodes` whose handles are texts.
        self.connections = [each for raw in _list(document.get("connections")) if (each := self._connection(raw))]
        #: The connections between the steps of a run: all connections except those to subagents.
        self.flow = [each for each in self.connections if each.out != SUBAGENT]
        #: The connections to subagents.
        self.delegations = [each for each in self.connections if each.out == SUBAGENT]

    def _connection(self, raw: Any) -> Connection | None:
        if not isinstance(raw, Mapping):
            return None
        parts = [raw.get(name) for name in ("source", "target", "sourceHandle", "targetHandle")]
        if not all(isinstance(part, str) for part in parts):
            return None
        source, target, out, into = map(str, parts)
        if source not in self.nodes or target not in self.nodes:
            return None
        return Connection(raw["id"] if usable_id(raw.get("id")) else None, source, target, out, into)

    @cached_property
    def live(self) -> list[Connection]:
        """Return the connections that a run can follow."""
        return [each for each in self.flow if self.leads_on(each) and not self.nodes[each.target].begins]

    def leads_on(self, each: Connection) -> bool:
        """Return whether the source node can choose this connection."""
        source = self.nodes[each.source]
        if source.kind is None or each.out in handles(source):
            return True
        return each.out == "" and source.kind.chooses and self.follows_plain

    @cached_property
    def ways(self) -> dict[str, list[str]]:
        """Return the targets of the connections that a run can follow, by the node at which the connections begin."""
        return _ways(self.live)

    @cached_property
    def leaving(self) -> dict[str, list[Connection]]:
        found: dict[str, list[Connection]] = {}
        for each in self.live:
            found.setdefault(each.source, []).append(each)
        return found

    @cached_property
    def reached(self) -> set[str]:
        """Return the nodes that a run can reach from any start."""
        return reach((node.id for node in self.nodes.values() if node.begins), self.ways)

    @cached_property
    def bodies(self) -> dict[str, set[str]]:
        """Return, for each loop that a run can reach, the nodes that one round of the loop can reach."""
        found = {}
        for loop in [node.id for node in self.nodes.values() if node.type == "loop" and node.id in self.reached]:
            first = [each.target for each in self.leaving.get(loop, ()) if each.out == BODY and each.target != loop]
            found[loop] = reach(first, self.ways, loop.__eq__) - {loop}
        return found

    @cached_property
    def subagents(self) -> dict[str, list[str]]:
        return _ways(self.delegations)

    def names(self, ids: Sequence[str]) -> str:
        return ", ".join(self.nodes[each].name for each in ids)

    def path(self, ids: Sequence[str]) -> str:
        return " → ".join(self.nodes[each].name for each in ids)


def usable_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def handles(node: Node) -> list[str]:
    """Return the outputs by which a run can leave a node of a known kind."""
    if node.kind is None:
        return []
    ways = [handle for handle in node.kind.outs if handle != SUBAGENT]
    if node.kind.row_handles is None:
        return ways
    field, prefix = node.kind.row_handles
    return [f"{prefix}{index}" for index in range(len(_list(node.data.get(field))))] + ways


def _node(raw: Mapping[str, Any]) -> Node:
    data = raw.get("data")
    type_ = raw["type"] if isinstance(raw.get("type"), str) else ""
    return Node(raw["id"], type_, KINDS.get(type_), label_of(raw), data if isinstance(data, Mapping) else {})


def label_of(raw: Mapping[str, Any]) -> str:
    """Return the label of a node, or the name of its agent, or its id. Return an empty text if it has none of them."""
    data = raw.get("data")
    agent = data.get("agentName") if isinstance(data, Mapping) else None
    return next((name for name in (raw.get("label"), agent, raw.get("id")) if isinstance(name, str) and name), "")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ways(connections: Sequence[Connection]) -> dict[str, list[str]]:
    ways: dict[str, list[str]] = {}
    for each in connections:
        ways.setdefault(each.source, []).append(each.target)
    return ways


# -- searches along connections ----------------------------------------------------------------------------------------


Ways = Mapping[str, Sequence[str]]


def reach(starts: Iterable[str], ways: Ways, stop: Callable[[str], bool] = lambda _node: False) -> set[str]:
    """Return `starts` and all nodes that can be reached from them. The search does not continue behind a node for which
    `stop` returns True."""
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
    """Return the strongly connected components (Kosaraju), each before the components to which it leads. Connections to
    nodes outside `ids` are ignored."""
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
    """Return one cycle of each component that contains a cycle: the nodes of the cycle in order, with its first node
    repeated at the end. A cycle begins at the node of its component that is first in `ids`. The cycles are sorted by
    the place of their first node in `ids`."""
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
