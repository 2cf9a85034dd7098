"""Repeat a run: from its beginning, or from one of its nodes, with the input of that node and the outputs of the
nodes before it.

Branches that do not lead through that node are not repeated: their tokens wait at the joins behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.errors import NotFound
from arvis.domain.executions import Cursor, Execution
from arvis.domain.messages import Address
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.workflows import STATE, Workflow, WorkflowRun, WorkflowVersion
from arvis.ports.store import Transaction
from arvis.services import workflow_runs
from arvis.services.workflow_runs import NewWorkflowRun
from arvis.tasks.access import AUTHORS, with_authors
from arvis.workflows.document.view import Drawing
from arvis.workflows.earlier_run import Arrival, EarlierRun
from arvis.workflows.runtime.token import Token
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
    """Begin a run that repeats this one, in the same place. `node` None: from the run's own beginning. It uses the
    same version, or with `newest` the one that may run now. Raises `NotFound`, and `Unprocessable` if the version has
    no such node or cannot run."""
    if request is not None and (known := tx.workflow_runs.of_request(request)) is not None:
        return _begun(tx, known.execution_id)
    run, old, workflow = _found(tx, run_id)
    version = workflow_runs.whole_version(tx, workflow, None if newest else run.version)
    part = old.state[STATE]
    others: Taint = CLEAN if by == run.principal_id else frozenset({Label.PEOPLE})
    token: Mapping[str, Any] | None = part.get("carried") if node in {None, run.entry} else None
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
        address=Address.from_json(old.state["address"]),
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
        carried=token,
        more=with_authors(kept, old.state.get(AUTHORS, ())),
    )
    begun = workflow_runs.begin(tx, wanted, now)
    for arrival in side_arrivals:
        tx.executions.put_cursor(Cursor(tx.new_id(), begun.id, arrival.gate, arrival.token.to_json()))
    return begun


def _begun(tx: Transaction, execution_id: str) -> Execution:
    known = tx.executions.get(execution_id)
    if known is None:
        raise NotFound("This run no longer exists.", fix="Start it again with another `Idempotency-Key`.")
    return known


def _found(tx: Transaction, run_id: str) -> tuple[WorkflowRun, Execution, Workflow]:
    run, old = tx.workflow_runs.get(run_id), tx.executions.get(run_id)
    workflow = None if run is None else tx.workflows.get(run.workflow_id)
    if run is None or old is None or workflow is None:
        raise NotFound("There is no such run.", fix="Look it up in the list; old runs are removed after a while.")
    return run, old, workflow


def _agent(tx: Transaction, old: Execution, version: WorkflowVersion, by: str | None) -> Agent:
    """Return the same agent as before, or the one for this version; `begin` checks that the person may use it."""
    known = tx.agents.get(str(old.state["agent"]))
    if known is not None and known.active:
        return known
    asker = workflow_runs.asker_for(tx, by, Address.from_json(old.state["address"]), {})
    return workflow_runs.agent_of(tx, version, asker)
