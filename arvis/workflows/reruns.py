"""Start a run again: from its beginning, or from one of its nodes, with the earlier input of that node and the earlier
outputs of the nodes before it.

Branches that do not lead through that node are not repeated: their earlier tokens wait at the joins behind the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import NotFound
from arvis.domain.executions import Cursor, Execution
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.workflows import OUTPUT, STATE, Workflow, WorkflowRun, WorkflowVersion
from arvis.ports.store import Transaction
from arvis.services import workflow_runs
from arvis.services.workflow_runs import NewWorkflowRun
from arvis.tasks.access import AUTHORS, with_authors
from arvis.tasks.state import WorkState
from arvis.workflows.compiler import joins_of
from arvis.workflows.document.view import Drawing, reach
from arvis.workflows.runtime import joins
from arvis.workflows.runtime.joins import Join, gate_of, merge_behind, merges_of, opened
from arvis.workflows.runtime.parts import name_of
from arvis.workflows.runtime.texts import made_in
from arvis.workflows.runtime.token import MOST_OUTPUT, Token, cut
from arvis.workflows.runtime.visit import taint_of


def rerun(
    tx: Transaction,
    run_id: str,
    node: str | None,
    now: int,
    *,
    by: str | None,
    newest: bool = False,
    request: str | None = None,
) -> Execution:
    """Begin a run that repeats the run `run_id`, in the same place, and return it.

    The new run begins at `node` (None: at the node where the earlier run began). It uses the same version, or if
    `newest` is True, the version that may run now. If this `request` has already started a run, return that run. Raise
    `NotFound`, and `Unprocessable` if the version has no such node or cannot run.
    """
    if request is not None and (known := tx.workflow_runs.of_request(request)) is not None:
        if (begun := tx.executions.get(known.execution_id)) is None:
            raise NotFound("This run no longer exists.", fix="Start it again with another `Idempotency-Key`.")
        return begun
    run, old, workflow = _found(tx, run_id)
    version = workflow_runs.whole_version(tx, workflow, None if newest else run.version)
    part = old.state[STATE]
    others: Taint = CLEAN if by == run.principal_id else frozenset({Label.PEOPLE})
    token: Mapping[str, Any] | None = part.get("token") if node in {None, run.entry} else None
    kept: Mapping[str, Any] = {}
    entry = node or run.entry
    drawing = Drawing(version.document)
    entry_node = drawing.nodes.get(entry)
    side_arrivals: Sequence[Arrival] = ()
    if entry_node is not None and not entry_node.begins:
        before = EarlierRun(drawing, version.document, tx.executions.cursors(old.id), old.state)
        came = Token.from_json(token) if token is not None else before.token_at(entry, part.get("input"))
        token, kept, side_arrivals = came.to_json(), before.outputs(entry), before.side_arrivals(entry, came)
    wanted = NewWorkflowRun(
        workflow=workflow,
        agent=_agent(tx, old, version, by),
        address=WorkState.from_json(old.state).address,
        source="api",
        input=part.get("input"),
        trigger=str(part.get("trigger") or ""),
        principal_id=by,
        version=version.version,
        entry=entry,
        # The input is the text of the person who began the first run; the person who repeats it is not its author.
        taint=taint_of(old.state) | others,
        rerun_of=run_id,
        request=request,
        token=token,
        more=with_authors({**kept, **made_in(old.state)}, old.state.get(AUTHORS, ())),
    )
    begun = workflow_runs.begin(tx, wanted, now)
    if side_arrivals:
        tx.executions.put_cursor(Cursor.start(begun.id))
    for arrival in side_arrivals:
        tx.executions.put_cursor(Cursor(tx.new_id(), begun.id, arrival.gate, arrival.token.to_json()))
    return begun


def _found(tx: Transaction, run_id: str) -> tuple[WorkflowRun, Execution, Workflow]:
    run, old = tx.workflow_runs.get(run_id), tx.executions.get(run_id)
    workflow = None if run is None else tx.workflows.get(run.workflow_id)
    if run is None or old is None or workflow is None:
        raise NotFound(
            "There is no such run.",
            fix="`arvis workflows runs` lists the runs. Runs are deleted after `retention.timeline_days`.",
        )
    return run, old, workflow


def _agent(tx: Transaction, old: Execution, version: WorkflowVersion, by: str | None) -> Agent:
    """Return the agent of the earlier run if it is active, otherwise the agent of the version. `begin` checks that the
    person may use the agent."""
    before = WorkState.from_json(old.state)
    known = tx.agents.get(before.agent)
    if known is not None and known.active:
        return known
    asker = workflow_runs.asker_for(tx, by, before.address, {})
    return workflow_runs.agent_of(tx, version, asker)


# -- the earlier run ---------------------------------------------------------------------------------------------------


#: The mark of a region whose opening visit the earlier run did not record.
_AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A branch of a rerun that has already arrived at a gate when the rerun begins."""

    gate: str
    token: Token


class EarlierRun:
    """The tokens and outputs of a run that has ended. Another run uses them to repeat a part of it."""

    def __init__(
        self, drawing: Drawing, document: Mapping[str, Any], positions: Sequence[Cursor], state: Mapping[str, Any]
    ) -> None:
        self._drawing = drawing
        self._document = document
        self._positions = positions
        self._state = state

    @cached_property
    def _joins(self) -> Mapping[str, Join]:
        return joins_of(self._document)

    def token_at(self, node: str, given: Any) -> Token:
        """Return the token with which the node's newest visit began. If the run failed at the node, a position still
        has this token. If the visit ended, make the token from the sources that the node recorded and from their
        outputs. If the node was never visited, the token contains the run's input (`given`)."""
        for cursor in self._positions:
            if cursor.node == name_of(node):
                return replace(Token.from_json(cursor.value), visits={})
        known: Mapping[str, Any] = self._kept(node).get("came") or {}
        sources = self._sources(node, known)
        if not sources:
            return Token(output=given, regions=self._regions(node))
        token = Token(
            output=self._output(node, sources),
            source=sources[0],
            handle=self._kept(sources[0]).get("handle"),
            rounds=dict(known.get("rounds") or {}),
            regions=self._regions(node),
        )
        if node not in self._joins:
            return token
        return replace(token, joined=tuple((each, self._failed(each) or "") for each in sources))

    def outputs(self, node: str) -> dict[str, Any]:
        """Return the stored outputs of the nodes that cannot be reached from this node, because templates may refer to
        these outputs."""
        behind = reach([node], self._drawing.ways)
        ids = [each for each in self._drawing.nodes if each not in behind and OUTPUT + each in self._state]
        return {OUTPUT + each: self._state[OUTPUT + each] for each in ids}

    def side_arrivals(self, node: str, came: Token) -> list[Arrival]:
        """Return the tokens with which branches outside this node's paths arrived at later joins. A join that opens
        before all branches have arrived gets one token less than it needs, so that the repeated branch opens the
        join."""
        behind = reach([node], self._drawing.ways)
        return [
            arrival
            for each, join in self._joins.items()
            if each in behind - {node}
            for arrival in self._at(join, behind, came)
        ]

    def _at(self, join: Join, behind: set[str], came: Token) -> Iterator[Arrival]:
        most = {joins.ANY: 0, joins.COUNT: join.count - 1}.get(join.rule)
        for source in [each for each in self._brought_to(join.id) if each not in behind][:most]:
            kept = self._kept(source)
            token = replace(Token(regions=came.regions, rounds=came.rounds), failed=self._failed(source))
            yield Arrival(gate_of(join.id), token.on(source, kept.get("output"), kept.get("handle")))

    # -- the stored data of nodes --------------------------------------------------------------------------------------

    def _sources(self, node: str, known: Mapping[str, Any]) -> list[str]:
        """Return the nodes from which the node's input came. If the earlier run did not record them, use the nodes
        whose output led to this node: all of them for a join, and only the last visited node for any other node."""
        remembered = {source for source, _ in known.get("joined") or ()} or {known.get("source")}
        if found := [each for each in self._drawing.nodes if each in remembered and self._kept(each)]:
            return found
        brought = list(self._brought_to(node))
        if node in self._joins or not brought:
            return brought
        return [max(brought, key=lambda each: (int(self._kept(each).get("at") or 0), each))]

    def _brought_to(self, node: str) -> Iterator[str]:
        """Yield the nodes whose output led to `node`, in the order of the document. A branch that failed leads to its
        merge."""
        for source in self._drawing.nodes:
            kept = self._kept(source)
            if kept.get("failed") is not None:
                merge = merge_behind(self._document, source, self._regions(source))
                led = merge is not None and merge.id == node
            else:
                outs = {each.out for each in self._drawing.leaving.get(source, ()) if each.target == node}
                led = bool(kept) and bool(outs) and (kept.get("handle") is None or kept["handle"] in outs)
            if led:
                yield source

    def _output(self, node: str, sources: Sequence[str]) -> Any:
        """Return the output of these sources as a join computes it (`joins.py`)."""
        join = self._joins.get(node)
        if join is None or (len(sources) == 1 and not join.merges):
            return self._kept(sources[0]).get("output")
        room = MOST_OUTPUT // len(sources)
        return [self._part(each, room) for each in sources]

    def _part(self, source: str, room: int) -> Any:
        failed = self._failed(source)
        return cut(self._kept(source).get("output"), room) if failed is None else {"failed": failed}

    def _failed(self, source: str) -> str | None:
        kept = self._kept(source)
        return None if kept.get("failed") is None else f"{kept.get('label') or source}: {kept['failed']}"

    def _kept(self, node: str) -> Mapping[str, Any]:
        kept = self._state.get(OUTPUT + node)
        return kept if isinstance(kept, Mapping) else {}

    def _regions(self, node: str) -> tuple[str, ...]:
        """Return the regions that the earlier run recorded for a node. If it recorded none, return the regions around
        the node in the document."""
        if (known := self._kept(node).get("came")) is not None:
            return tuple(known.get("regions") or ())
        regions: tuple[str, ...] = ()
        for parallel, merge in self._around(node):
            if node != merge:
                regions = opened(regions, parallel, _AGAIN)
        return regions

    def _around(self, node: str) -> list[tuple[str, str]]:
        """Return the pairs of a `parallel` and its merge that enclose a node, outermost first."""
        ways = self._drawing.ways
        found = [
            (parallel, merge)
            for parallel, merge in merges_of(self._document).items()
            if node in reach(ways.get(parallel, ()), ways, lambda id_, merge=merge: id_ == merge)  # type: ignore[misc]
        ]
        return sorted(found, key=lambda each: sum(each[0] in reach(ways.get(other, ()), ways) for other, _ in found))
