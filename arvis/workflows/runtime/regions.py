"""Regions: the nodes between a `parallel` and its merge. A position carries the open ones, outermost first, each as
the id of its `parallel` and the mark of the visit that opened it: two visits of one `parallel` are two regions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arvis.workflows.document.kinds import SUBAGENT
from arvis.workflows.document.view import label_of

#: The prefix of the engine's names of gates.
_GATE = "join:"
_MARK = "#"
#: Maximum depth of nested `parallel` nodes in the search for the merge of one.
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class MergeAhead:
    """A merge that positions can reach: its id, its label, and its gate in the engine."""

    id: str
    label: str
    gate: str


def gate_of(node_id: str) -> str:
    """Return the gate where positions wait before a node that joins branches."""
    return f"{_GATE}{node_id}"


def opened(open_: Sequence[str], parallel_id: str, visit: str) -> tuple[str, ...]:
    """Return the open regions after this visit of a `parallel` has opened another. A region of an earlier visit on
    the same path that reached no merge is closed."""
    before = next((index for index, one in enumerate(open_) if parallel_of(one) == parallel_id), len(open_))
    return (*open_[:before], f"{parallel_id}{_MARK}{visit}")


def parallel_of(one: str) -> str:
    """The id of the `parallel` that opened this region."""
    return one.rpartition(_MARK)[0]


def merge_behind(document: Mapping[str, Any], node_id: str, open_: Sequence[str]) -> MergeAhead | None:
    """Return the merge of the innermost of these regions that has one, if this node comes before it."""
    merges = merges_of(document)
    nodes = {node["id"]: node for node in document["nodes"]}
    ahead = reachable(ways_of(document), node_id)
    for one in reversed(open_):
        if (merge := merges.get(parallel_of(one))) and merge in ahead:
            return MergeAhead(merge, label_of(nodes[merge]), gate_of(merge))
    return None


def reachable(ways: Mapping[str, Sequence[str]], start: str) -> set[str]:
    """Return the nodes that can be reached from this node in at least one step."""
    seen, queue = set[str](), list(ways.get(start, ()))
    while queue:
        if (node_id := queue.pop()) not in seen:
            seen.add(node_id)
            queue += ways.get(node_id, ())
    return seen


def merges_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return, by `parallel`, the nearest following merge that does not belong to a `parallel` between them. A
    `parallel` without one is left out."""
    kinds = {node["id"]: node["type"] for node in document["nodes"]}
    ways = ways_of(document)
    found = {node_id: _merge_of(node_id, kinds, ways) for node_id, kind in kinds.items() if kind == "parallel"}
    return {parallel: merge for parallel, merge in found.items() if merge is not None}


def ways_of(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the targets of each node's connections, in the order of the document, without those to subagents."""
    ways: dict[str, list[str]] = {node["id"]: [] for node in document["nodes"]}
    for each in document["connections"]:
        if each["sourceHandle"] != SUBAGENT and each["target"] in ways and each["source"] in ways:
            ways[each["source"]].append(each["target"])
    return ways


def _merge_of(start: str, kinds: Mapping[str, str], ways: Mapping[str, Sequence[str]]) -> str | None:
    """Search breadth-first for the first merge at which as many regions are closed as were opened."""
    queue = deque((target, 1) for target in ways[start])
    seen = set(queue)
    while queue:
        node_id, depth = queue.popleft()
        if kinds[node_id] == "merge":
            depth -= 1
            if depth == 0:
                return node_id
        if kinds[node_id] == "parallel":
            depth += 1
        for step in ((target, depth) for target in ways[node_id]):
            if step not in seen and depth <= _DEEPEST:
                seen.add(step)
                queue.append(step)
    return None
