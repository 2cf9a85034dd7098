"""A run once more: from its beginning, or from a node in its midst with what came there and what the nodes before it gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.agents import workflow_runs
from arvis.agents.workflow_runs import NewWorkflowRun
from arvis.domain.agents import Agent
from arvis.domain.errors import NotFound
from arvis.domain.executions import Execution
from arvis.domain.messages import Address
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.workflows import OUTPUT, STATE, Workflow, WorkflowRun
from arvis.ports.store import Transaction
from arvis.workflows.carried import Carried
from arvis.workflows.drawing import Drawing
from arvis.workflows.visiting import taint_of
from arvis.workflows.walks import reach


def begin_again(
    tx: Transaction,
    run_id: str,
    node: str | None,
    now: int,
    *,
    by: str | None,
    newest: bool = False,
    request: str | None = None,
) -> Execution:
    """The run that repeats this one, in the same place. `node` None: from where that began. It walks the same version, or with
    `newest` the one that may run now. Raises `NotFound`, and `Unprocessable` where the version has no such node or cannot run."""
    run, old, workflow = _found(tx, run_id)
    version = workflow_runs.whole_version(tx, workflow, None if newest else run.version)
    part = old.state[STATE]
    others: Taint = CLEAN if by == run.principal_id else frozenset({Label.PEOPLE})
    carried: Mapping[str, Any] | None = part.get("carried") if node in {None, run.entry} else None
    kept: Mapping[str, Any] = {}
    entry = node or run.entry
    drawing = Drawing(version.document)
    drawn = drawing.nodes.get(entry)
    if drawn is not None and not drawn.begins:
        carried = carried or _came(drawing, old, entry, part.get("input")).to_json()
        kept = _before(drawing, old, entry)
    wanted = NewWorkflowRun(
        workflow=workflow,
        agent=_agent(tx, old, version.document, by),
        address=Address.from_json(old.state["address"]),
        source="api",
        input=part.get("input"),
        trigger=str(part.get("trigger") or ""),
        principal_id=by,
        version=version.version,
        entry=entry,
        # Its input are the words of whoever began that run: they do not become the words of whoever begins this one.
        taint=taint_of(old.state) | others,
        again_of=run_id,
        request=request,
        carried=carried,
        more=kept,
    )
    return workflow_runs.begin(tx, wanted, now)


def _found(tx: Transaction, run_id: str) -> tuple[WorkflowRun, Execution, Workflow]:
    run, old = tx.workflow_runs.get(run_id), tx.executions.get(run_id)
    workflow = None if run is None else tx.workflows.get(run.workflow_id)
    if run is None or old is None or workflow is None:
        raise NotFound("There is no such run.", fix="Look it up in the list; old ones are removed in time.")
    return run, old, workflow


def _came(drawing: Drawing, old: Execution, node: str, given: Any) -> Carried:
    """The newest that a node before this one gave; where none did, what the run began with."""
    sources = {each.source for each in drawing.live if each.target == node}
    known = [(source, old.state[OUTPUT + source]) for source in sources if OUTPUT + source in old.state]
    if not known:
        return Carried(output=given)
    source, newest = max(known, key=lambda each: (int(each[1].get("at") or 0), each[0]))
    return Carried().on(source, newest.get("output"), newest.get("handle"))


def _before(drawing: Drawing, old: Execution, node: str) -> dict[str, Any]:
    """What the nodes gave that this one does not lead to: templates speak of them."""
    behind = reach([node], drawing.ways)
    ids = [node_id for node_id in drawing.nodes if node_id not in behind and OUTPUT + node_id in old.state]
    return {OUTPUT + node_id: old.state[OUTPUT + node_id] for node_id in ids}


def _agent(tx: Transaction, old: Execution, document: Mapping[str, Any], by: str | None) -> Agent:
    """The same as before; whoever begins it again must be allowed to use it, which `begin` sees to."""
    known = tx.agents.get(str(old.state["agent"]))
    if known is not None and known.active:
        return known
    asker = workflow_runs.asker_for(tx, by, Address.from_json(old.state["address"]), {})
    return workflow_runs.agent_of(tx, document, asker)
