"""Regions and joins of branches: the gates of a workflow's graph, computed from positions alone (ADR 0032).

A visit of a `parallel` opens a region, and its merge closes the region. Each position carries its open regions,
outermost first: the id of the `parallel` and a mark of the visit. Two visits of the same `parallel` open two regions,
and positions of the two regions are not joined.

A join `all` opens when no other live position can still arrive along the connections, a join `any` at the first
arrival, and a join `n` at the n-th arrival. Later arrivals end at the join. Failed branches go only to merges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Cursor
from arvis.domain.workflows import OUTPUT
from arvis.engine.graph import Opened, Watch
from arvis.workflows.document.kinds import SUBAGENT
from arvis.workflows.document.view import label_of
from arvis.workflows.runtime.token import MOST_OUTPUT, Token, cut

# -- regions -----------------------------------------------------------------------------------------------------------


#: The prefix of the names of gates. At a gate, the engine lets branches wait until they are joined.
_GATE = "join:"
_MARK = "#"
#: Maximum depth of nested `parallel` nodes in the search for a merge.
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class MergeAhead:
    """A merge that positions can reach, with its gate in the engine."""

    id: str
    label: str
    gate: str


def gate_of(node_id: str) -> str:
    """Return the name of the gate at which positions wait before a node that joins branches."""
    return f"{_GATE}{node_id}"


def opened(open_: Sequence[str], parallel_id: str, visit: str) -> tuple[str, ...]:
    """Return the open regions after this visit of a `parallel` has opened one more. If an earlier visit of the same
    `parallel` opened a region that is still open, that region and the regions inside it are closed."""
    before = next((index for index, one in enumerate(open_) if parallel_of(one) == parallel_id), len(open_))
    return (*open_[:before], f"{parallel_id}{_MARK}{visit}")


def parallel_of(one: str) -> str:
    """Return the id of the `parallel` that opened a region (`one`)."""
    return one.rpartition(_MARK)[0]


def merge_behind(document: Mapping[str, Any], node_id: str, open_: Sequence[str]) -> MergeAhead | None:
    """Return the merge of an open region (`open_`) that the run can still reach from this node. If there are several,
    return the merge of the innermost region; None if there is no such merge."""
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
    """Return the merge of each `parallel`: the nearest following merge that does not belong to another `parallel`
    between the two. A `parallel` without a merge is left out."""
    kinds = {node["id"]: node["type"] for node in document["nodes"]}
    ways = ways_of(document)
    found = {node_id: _merge_of(node_id, kinds, ways) for node_id, kind in kinds.items() if kind == "parallel"}
    return {parallel: merge for parallel, merge in found.items() if merge is not None}


def ways_of(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return, for each node, the targets of its connections in the order of the document, without connections to
    subagents."""
    ways: dict[str, list[str]] = {node["id"]: [] for node in document["nodes"]}
    for each in document["connections"]:
        if each["sourceHandle"] != SUBAGENT and each["target"] in ways and each["source"] in ways:
            ways[each["source"]].append(each["target"])
    return ways


def _merge_of(start: str, kinds: Mapping[str, str], ways: Mapping[str, Sequence[str]]) -> str | None:
    """Search breadth-first for the nearest merge at which as many regions are closed as were opened, and return it."""
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


# -- joins -------------------------------------------------------------------------------------------------------------


#: The prefix of the keys, in a run's state, under which each join counts its openings. A value is a list of pairs: the
#: regions, and the number of openings for positions in these regions.
_TIMES = "join:"
ALL, ANY, COUNT = "all", "any", "n"

Regions = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A position at the gate."""

    cursor_id: str
    token: Token
    #: The open regions of the position, except the regions inside the region that ends at this join.
    place: Regions


@dataclass(frozen=True, slots=True)
class Join:
    """A node before which branches are joined."""

    id: str
    #: `ALL`, `ANY` or `COUNT`.
    rule: str
    #: The engine's names of all nodes and gates from which this node can be reached.
    before: frozenset[str]
    #: The position of each node in the document.
    order: Mapping[str, int]
    #: The number of positions that a join of the rule `ANY` or `COUNT` needs.
    count: int = 1
    #: True: the node is a merge.
    merges: bool = False
    #: The `parallel` nodes of which this node is the merge.
    closes: frozenset[str] = frozenset()
    #: The names in `before` from which this node can be reached without passing a node of `closes` (None: all).
    around: frozenset[str] | None = None

    def open(self, held: Sequence[Cursor], others: Collection[Cursor], state: Mapping[str, Any]) -> Opened | None:
        arrivals = [self._arrival(cursor) for cursor in held]
        for arrival in arrivals:
            if self._is_late(arrival, state):
                return Opened([arrival.cursor_id], through=False)
        coming = {(cursor.node, self.place_of(cursor)) for cursor in others if cursor.node in self.before}
        for place in dict.fromkeys(arrival.place for arrival in arrivals):
            group = [each for each in arrivals if not _apart(each.place, place)]
            taken = self._enough(group, coming=any(self._can_join(*each, place) for each in coming))
            if taken:
                return self._opened(taken, [*held, *others], state)
        return None

    def watch(self) -> Watch:
        return _JoinWatch(self)

    def may_come(self, cursor: Cursor, waiting: Regions) -> bool:
        """Return whether this position can still arrive and be joined with positions that wait in these regions."""
        return cursor.node in self.before and self._can_join(cursor.node, self.place_of(cursor), waiting)

    def is_late(self, cursor: Cursor, state: Mapping[str, Any]) -> bool:
        return self.rule != ALL and self._is_late(self._arrival(cursor), state)

    def place_of(self, cursor: Cursor) -> Regions:
        """Return the open regions of a position, except the regions inside the region that ends at this join."""
        return self._place(tuple((cursor.value or {}).get("regions", ())))

    def _place(self, regions: Regions) -> Regions:
        closed = [index for index, one in enumerate(regions) if parallel_of(one) in self.closes]
        return regions[: closed[-1] + 1] if closed else regions

    def _can_join(self, node: str, place: Regions, waiting: Regions) -> bool:
        """Return whether a position at `node` with the regions `place` can still be joined with positions that wait in
        the regions `waiting`. It cannot be joined if it is outside the region that ends at this join and would first
        have to open a new region, as in the next round of a loop."""
        if _apart(place, waiting):
            return False
        ending = bool(waiting) and parallel_of(waiting[-1]) in self.closes
        return not ending or waiting[-1] in place or self.around is None or node in self.around

    def _arrival(self, cursor: Cursor) -> _Arrival:
        token = Token.from_json(cursor.value)
        return _Arrival(cursor.id, token, self._place(token.regions))

    def _enough(self, group: Sequence[_Arrival], *, coming: bool) -> list[_Arrival]:
        """Return the positions that this join combines into one; an empty list if the join must stay closed."""
        whole = [each for each in group if each.token.failed is None]
        if self.rule == ALL:
            return [] if coming else list(group)
        if len(whole) >= self.count:
            return whole[: self.count]
        # Too few branches succeeded and no more can arrive: the merge gets all branches, with their errors.
        return list(group) if not coming and len(whole) < len(group) else []

    def _opened(self, taken: Sequence[_Arrival], live: Sequence[Cursor], state: Mapping[str, Any]) -> Opened:
        ordered = sorted(taken, key=lambda each: self.order.get(each.token.source, len(self.order)))
        passed = max(each.token.passed.get(self.id, 0) for each in taken) + 1
        whole = [each.token for each in ordered if each.token.failed is None]
        errors = [each.token.failed for each in ordered if each.token.failed is not None]
        token = Token(
            output=self._output([each.token for each in ordered]),
            source=ordered[0].token.source,
            regions=self._regions(ordered),
            rounds=_most([each.token.rounds for each in taken]),
            passed={**_most([each.token.passed for each in taken]), self.id: passed},
            visits=_most([each.token.visits for each in taken]),
            failed="; ".join(errors) if not whole or (self.rule != ALL and len(whole) < self.count) else None,
            joined=tuple((each.token.source, each.token.failed or "") for each in ordered),
        )
        changes = {} if self.rule == ALL else self._noted(taken[0].place, passed, live, state)
        return Opened([each.cursor_id for each in taken], token.to_json(), changes=changes)

    def _output(self, ordered: Sequence[Token]) -> Any:
        """Return the list of the joined outputs, in the order of the document. A node that is no merge gets the output
        itself if only one position arrived."""
        if len(ordered) == 1 and not self.merges:
            return ordered[0].output
        room = MOST_OUTPUT // len(ordered)
        return [cut(each.output, room) if each.failed is None else {"failed": each.failed} for each in ordered]

    def _regions(self, ordered: Sequence[_Arrival]) -> Regions:
        """Return the regions that all these positions have in common, without the region that ends here."""
        places = [each.place for each in ordered]
        common = tuple(one for one, *_ in takewhile(lambda same: len(set(same)) == 1, zip(*places, strict=False)))
        return common[:-1] if common and parallel_of(common[-1]) in self.closes else common

    # -- late arrivals -------------------------------------------------------------------------------------------------

    def _is_late(self, arrival: _Arrival, state: Mapping[str, Any]) -> bool:
        """Return whether the join has already opened for other positions of the same regions. The token of each
        position counts how often the position has gone through the join (`passed`)."""
        known = state.get(_TIMES + self.id, ()) if self.rule != ALL else ()
        mine = arrival.token.passed.get(self.id, 0)
        return any(times > mine and not _apart(tuple(place), arrival.place) for place, times in known)

    def _noted(
        self, place: Regions, times: int, live: Sequence[Cursor], state: Mapping[str, Any]
    ) -> dict[str, list[list[Any]]]:
        """Return the change of the state that counts this opening of the join. Counts of regions without live positions
        are dropped."""
        places = {self.place_of(cursor) for cursor in live}
        known = [
            [other, count]
            for other, count in state.get(_TIMES + self.id, ())
            if tuple(other) != place and any(not _apart(tuple(other), each) for each in places)
        ]
        return {_TIMES + self.id: [*known, [list(place), times]]}


class _JoinWatch:
    """A quick test of whether a join must stay closed. For each `place` (the regions in which positions wait), the test
    remembers one other position that can still arrive. A join `all` stays closed for this place while the remembered
    position has not moved. Any other join stays closed while too few positions have arrived and none of them failed."""

    def __init__(self, join: Join) -> None:
        self._join = join
        self._coming: dict[Regions, Cursor | None] = {}
        self._whole = self._failed = 0

    def is_shut(
        self,
        arrived: Sequence[Cursor],
        others: Collection[Cursor],
        live: Mapping[str, Cursor],
        state: Mapping[str, Any],
    ) -> bool:
        join = self._join
        for cursor in arrived:
            if join.is_late(cursor, state):
                return False
            failed = (cursor.value or {}).get("failed") is not None
            self._whole, self._failed = self._whole + (not failed), self._failed + failed
            self._coming.setdefault(join.place_of(cursor), None)
        if join.rule != ALL and (self._whole >= join.count or not self._failed):
            return self._whole < join.count
        return all(self._still_comes(place, others, live) for place in self._coming)

    def _still_comes(self, place: Regions, others: Collection[Cursor], live: Mapping[str, Cursor]) -> bool:
        known = self._coming[place]
        if known is None or live.get(known.id) is not known:
            known = next((cursor for cursor in others if self._join.may_come(cursor, place)), None)
            self._coming[place] = known
        return known is not None


@dataclass(frozen=True, slots=True)
class LastOne:
    """The gate at which all branches end. The branch that ends last continues to the node that ends the run."""

    def open(self, held: Sequence[Cursor], others: Collection[Cursor], state: Mapping[str, Any]) -> Opened | None:
        def ended(cursor: Cursor) -> int:
            kept = state.get(OUTPUT + Token.from_json(cursor.value).source) or {}
            return int(kept.get("at", 0))

        *earlier, last = sorted(held, key=ended)
        if earlier:
            return Opened([cursor.id for cursor in earlier], through=False)
        return None if others else Opened([last.id], last.value)


def _apart(one: Regions, other: Regions) -> bool:
    """Return whether the regions belong to two different visits of one `parallel`. Positions in such regions are not
    joined."""
    mine, yours = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), ("", ""))
    return mine != yours and parallel_of(mine) == parallel_of(yours)


def _most(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for each in counts:
        for key, count in each.items():
            most[key] = max(most.get(key, 0), count)
    return most
