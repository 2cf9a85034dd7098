"""The tools by which an agent starts and aborts workflows. The agent's turn ends, and the results of the run begin its
next turn in the same conversation (`workflow_results.py`).

The tools work only in a turn of a conversation. The number of starts without a message of a person is limited, because
an agent could otherwise start workflows without end.
"""

from __future__ import annotations

from arvis.bus import EventBus
from arvis.domain.errors import ToolError, UsageError
from arvis.domain.executions import Execution
from arvis.domain.jobs import Priority
from arvis.domain.markup import escape
from arvis.domain.workflows import Workflow
from arvis.engine import lifecycle
from arvis.engine.state import changes
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller
from arvis.services import workflow_runs
from arvis.services.workflow_runs import NewWorkflowRun, agent_for, begin_keyed, find, whole_version
from arvis.tasks.access import PlacedState, asker_of, caller_limits, origin_of
from arvis.tasks.task import is_run
from arvis.turns import cancellation
from arvis.turns.cancellation import CancelledTurn
from arvis.turns.workflow_results import STARTER, StartedState, Starter

#: The maximum number of runs that an agent may start without a message of a person between them.
MOST_STARTS = 5
#: The maximum number of workflows in the tool's description, and of characters of each workflow's description.
_LISTED, _LONGEST = 30, 120


class WorkflowStarter:
    """The implementation of the port `WorkflowStarts`."""

    def __init__(self, *, store: Store, bus: EventBus, clock: Clock) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock

    async def listing(self) -> str:
        return await self._store.read(listed)

    async def start(self, caller: Caller, *, workflow: str, given: str) -> str:
        return await self._store.write(start, caller, workflow, given, self._clock.now())

    async def abort(self, caller: Caller, run: str) -> str:
        name, ended = await self._store.write(abort, caller, run, self._clock.now())
        cancellation.announce_cancelled(self._bus, ended)
        return f"The run of the workflow {name} was cancelled."


def listed(tx: Transaction) -> str:
    """Return the workflows that can be started, one in each line."""
    there = [each for each in tx.workflows.all() if _can_start(each)]
    lines = [
        f"- {each.slug}: {' '.join((each.description or each.name).split())[:_LONGEST]}" for each in there[:_LISTED]
    ]
    if len(there) > _LISTED:
        lines.append(f"- and {len(there) - _LISTED} more")
    return "\n".join(lines) or "(no workflows)"


def start(tx: Transaction, caller: Caller, name: str, given: str, now: int) -> str:
    """Start a run of the workflow with this name, unless this tool call has already started it. Return the text for the
    model. Raise `ToolError` if the agent may not start it."""
    turn = _turn(tx, caller)
    starts = origin_of(turn.state).starts + 1
    if starts > MOST_STARTS:
        raise ToolError(
            f"Not started: you have started {MOST_STARTS} workflows in a row. Ask the person whether you may continue."
        )
    try:
        workflow = find(tx, name)
        if not _can_start(workflow):
            raise ToolError(f"The workflow {workflow.slug} is disabled or incomplete. Tell the person.")
        version = whole_version(tx, workflow)
        agent = agent_for(tx, version, asker_of(tx, turn, caller.agent))
        workflow_runs.check_pace(tx, tx.principals.get(caller.principal_id or ""))
    except UsageError as refused:
        raise ToolError(f"{refused.what} Workflows:\n{listed(tx)}") from None
    limits = caller_limits(turn.state)
    starter = changes(
        Starter,
        execution=turn.id,
        agent=caller.agent.id,
        conversation=caller.conversation_id or "",
        starts=starts,
        limits=limits,
    )
    wanted = NewWorkflowRun(
        workflow=workflow,
        agent=agent,
        address=PlacedState.from_json(turn.state).address,
        source=f"agent:{turn.id}",
        input=given or None,
        trigger=given or workflow.name,
        principal_id=caller.principal_id,
        taint=caller.taint,
        priority=Priority.DELEGATION,
        more={STARTER: starter, **limits.to_json()},
    )
    begun = begin_keyed(tx, wanted, now, key=f"start:{caller.call_id}", live=False)
    if begun is not None:
        workflow_runs.join(tx, begun, turn, now)
    run = f" (run {begun.id})" if begun is not None else ""
    return f"The workflow {escape(workflow.name)} has started{run}. I will report its results when it ends."


def abort(tx: Transaction, caller: Caller, run: str, now: int) -> tuple[str, CancelledTurn]:
    """Abort a run that this agent started in this conversation. Return the workflow's name and the cancelled run, which
    the caller announces after the commit."""
    execution = tx.executions.get(run.strip())
    starter = StartedState.from_json(execution.state).starter if execution is not None else None
    here = (caller.agent.id, caller.conversation_id)
    if execution is None or starter is None or (starter.agent, starter.conversation) != here:
        raise ToolError(f"You started no run {run.strip()[:40]!r} in this conversation.")
    if execution.status not in lifecycle.LIVE:
        raise ToolError("This run has ended already.")
    row = tx.workflow_runs.get(execution.id)
    workflow = tx.workflows.get(row.workflow_id) if row is not None else None
    name = escape(workflow.name) if workflow is not None else "(unknown)"
    return name, cancellation.cancel_turn(tx, execution.id, f"the agent {caller.agent.slug}", now)


def _turn(tx: Transaction, caller: Caller) -> Execution:
    turn = tx.executions.get(caller.execution_id)
    if turn is None or is_run(turn) or turn.parent_wait is not None:
        raise ToolError(
            "You are not in a conversation. Start workflows only in a conversation, which then receives the results."
        )
    return turn


def _can_start(workflow: Workflow) -> bool:
    return workflow.enabled and workflow.runnable is not None
