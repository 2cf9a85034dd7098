"""A read-only view of a canonical document, by node id, for the checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from arvis.workflows.document.kinds import ID, KINDS, SUBAGENT, Kind
from arvis.workflows.document.paths import reach

_ID = re.compile(ID)
#: The output of a loop that leads into its body.
BODY = "loop-start"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the document. `kind` is None for unknown types. `data` is empty where it cannot be read."""

    id: str
    type: str
    kind: Kind | None
    name: str
    data: Mapping[str, Any]

    @property
    def begins(self) -> bool:
        return self.kind is not None and self.kind.begins


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection between two existing nodes. An id that cannot be read is None."""

    id: str | None
    source: str
    target: str
    out: str
    into: str


class Drawing:
    """The nodes and connections of a document. `nodes` are those with a usable id, in their order (of equal ids the
    first); `connections` those between them with handles that are texts, `flow` those of them that a run follows,
    `delegations` those to subagents."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.nodes: dict[str, Node] = {}
        for raw in _list(document.get("nodes")):
            if isinstance(raw, Mapping) and usable_id(raw.get("id")):
                self.nodes.setdefault(raw["id"], _node(raw))
        settings = document.get("settings")
        known = settings if isinstance(settings, Mapping) else {}
        self.follows_plain = known.get("unlabelled") == "follow"
        self.agent = known.get("agent")
        self.most_steps = known.get("maxSteps")
        self.connections = [each for raw in _list(document.get("connections")) if (each := self._connection(raw))]
        self.flow = [each for each in self.connections if each.out != SUBAGENT]
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
        """Return the targets of each node's connections that a run can follow."""
        return _ways(self.live)

    @cached_property
    def leaving(self) -> dict[str, list[Connection]]:
        return _by(self.live, "source")

    @cached_property
    def reached(self) -> set[str]:
        """Return the nodes that a run can reach from any start."""
        return reach((node.id for node in self.nodes.values() if node.begins), self.ways)

    @cached_property
    def bodies(self) -> dict[str, set[str]]:
        """Return, for each loop that a run can reach, the nodes that one of its rounds can reach."""
        loops = [node.id for node in self.nodes.values() if node.type == "loop" and node.id in self.reached]
        return {each: self._body_of(each) for each in loops}

    def _body_of(self, loop: str) -> set[str]:
        first = [each.target for each in self.leaving.get(loop, ()) if each.out == BODY and each.target != loop]
        return reach(first, self.ways, lambda id_: id_ == loop) - {loop}

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
    """Return the name of a node: its label, else the name of its agent, else its id, else nothing."""
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


def _by(connections: Sequence[Connection], end: str) -> dict[str, list[Connection]]:
    found: dict[str, list[Connection]] = {}
    for each in connections:
        found.setdefault(getattr(each, end), []).append(each)
    return found
