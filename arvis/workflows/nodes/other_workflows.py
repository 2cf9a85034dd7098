"""The nodes by which a run starts runs of other workflows.

- `sub-workflow` runs the other workflow as a child of this run; if the child fails, the node fails. If the node does
  not wait for the result, the other run is independent.
- `transfer` ends this run and the runs that called it. A separate run of the other workflow, with its own log, gets the
  output as its input. It runs in the same place and for the same person, and it answers the turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ExecutionError, NotFound, Unprocessable
from arvis.domain.executions import Answer, Execution
from arvis.domain.jobs import NewJob
from arvis.domain.runs import RunResult
from arvis.domain.taint import CLEAN, Taint, taint_in
from arvis.domain.workflows import (
    DEPTH,
    PREFIX,
    SAID,
    STATE,
    SYSTEM,
    LogType,
    Workflow,
    WorkflowVersion,
    as_text,
    has_made,
)
from arvis.engine import lifecycle
from arvis.engine.graph import Call, Decision, End, Node, NodeContext
from arvis.ports.store import Transaction
from arvis.services import workflow_runs
from arvis.services.billing import charge_run
from arvis.services.workflow_runs import NewWorkflowRun, begin, called_state, entry_of, find, note_begun, whole_version
from arvis.tasks.access import AUTHORS, caller_limits, taint_of_authors, with_authors
from arvis.tasks.state import RUN, TaskSpec, WorkOutcome, WorkState, WorkStatus, child_end, with_files
from arvis.tasks.task import is_run, source_of
from arvis.turns.workflow_results import STARTER
from arvis.workflows.runtime.log import announce_state, line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.texts import made_in
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import fail_branch, succeed, taint_of, texts_of, token_of, worker


def make_sub_workflow(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is not None:
            return await _ended(context, spec, token, parts, context.answer)
        to = await parts.store.read(target, context.execution, str(spec.data.get("workflow") or ""))
        depth = deeper(context.state)
        given = texts_of(spec, context, token).filled(str(spec.data.get("input") or ""))
        input_ = given if given.strip() else token.output
        taint = taint_of(context.state)
        if spec.data.get("awaitResponse") is not False:
            return Call(to.workflow.graph, child_of(context.state, to, input_, taint, depth))
        context.record(
            begin_detached, context.execution, to, input_, taint=taint, more={DEPTH: depth}, now=context.now()
        )
        write(context, [line(spec.id, LogType.STEP_START, f"The workflow {to.workflow.slug} continues independently.")])
        return succeed(context, spec, token, token.output)

    return visit


async def _ended(context: NodeContext, spec: NodeSpec, token: Token, parts: NodeParts, answer: Answer) -> Decision:
    end, result = child_end(answer), (answer.value or {}).get("result") or {}
    taint, made, changes = await parts.store.read(_brought, context.execution, spec.id)
    if end.outcome is None:
        return fail_branch(context, spec, token, end.error or "The workflow failed.", **changes)
    if (transferred := result.get("transferred")) is not None:
        return await hand_over(context, spec, parts, transferred["workflow"], transferred["input"], read=taint)
    return succeed(context, spec, token, result.get("output"), taint=taint, made=made, **changes)


def _brought(tx: Transaction, execution: Execution, node_id: str) -> tuple[Taint, bool, dict[str, Any]]:
    """Return the taint of the children, True if a script may have made addresses in one of them, and the changes of the
    state that add their files and the messages that the last child posted."""
    states: list[Mapping[str, Any]] = [child.state for child in tx.executions.children_of(execution.id)]
    files = with_files(execution.state, [file for state in states for file in WorkState.from_json(state).files])
    texts = [text for name, text in (states[-1] if states else {}).items() if name.startswith(SAID)]
    return (
        taint_in(*states),
        any(map(has_made, states)),
        {**files, **{f"{SAID}{node_id}/{number}": text for number, text in enumerate(texts)}},
    )


# -- transfer ----------------------------------------------------------------------------------------------------------


_STATUS = "transferred"


def make_transfer(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        return await hand_over(context, spec, parts, str(spec.data.get("workflow") or ""), token.output)

    return visit


async def hand_over(
    context: NodeContext, spec: NodeSpec, parts: NodeParts, name: str, output: Any, *, read: Taint = CLEAN
) -> Decision:
    """Transfer the run to the workflow `name`. Only the outermost run begins the other run; a run that another run
    called returns the request to its caller."""
    if int(context.state.get(TRANSFERS) or 0) >= MOST_TRANSFERS:
        raise ExecutionError(
            f"The run was transferred {MOST_TRANSFERS} times already",
            fix="Remove one of the transfers, so that workflows do not transfer in a circle.",
        )
    to = await parts.store.read(target, context.execution, name)
    taint = taint_of(context.state) | read
    changes: dict[str, Any] = {"taint": sorted(taint)}
    if context.execution.parent_wait is None:
        context.record(transfer, context.execution, to, output, taint=taint, now=context.now())
        changes[STARTER] = None
    summary = f"The run continues in the workflow {to.workflow.slug}."
    write(context, [line(spec.id, "transfer", summary), line(SYSTEM, LogType.RUN_END, _STATUS)])
    announce_state(context)
    result = RunResult("", "", "", "").to_json() | {"outcome": WorkOutcome(WorkStatus.DONE).to_json()}
    gone = {"workflow": to.workflow.id, "input": output}
    return End({**result, "output": output, _STATUS: gone}, **changes)


# -- runs of other workflows -------------------------------------------------------------------------------------------


#: The maximum number of levels on which runs call one another, and the maximum number of transfers.
MOST_DEEP, MOST_TRANSFERS = 8, 50
#: The key, in a run's state, of the number of transfers so far.
TRANSFERS = "workflow_transfers"
#: The keys of a turn's state that are copied to the run of another workflow that answers the turn.
_CALLER_KEYS = ("address", "conversation", "reach", "paired", AUTHORS, "task", "lineage", "audience", "files")


@dataclass(frozen=True, slots=True)
class Target:
    """A workflow that can run."""

    workflow: Workflow
    version: WorkflowVersion
    #: The agent for nodes that name no agent.
    agent: Agent
    #: The taint of the document, if people with fewer rights than this run's person wrote it.
    taint: Taint = CLEAN


def target(tx: Transaction, execution: Execution, name: str) -> Target:
    """Find a workflow by id or slug. Raise `ExecutionError` if the workflow does not exist, cannot run, or names an
    agent that this run may not use, or if the root of this execution has already started too many runs."""
    workflow_runs.check_room(tx, execution)
    try:
        workflow = find(tx, name)
        version = whole_version(tx, workflow)
    except (NotFound, Unprocessable) as missing:
        raise ExecutionError(missing.what, why=missing.why, fix=missing.fix) from None
    named = (version.document.get("settings") or {}).get("agent")
    written = replace(execution, state=with_authors(execution.state, version.authors))
    taint = taint_of_authors(tx, execution.principal_id, version.authors)
    return Target(workflow, version, worker(tx, written, {"agent": named}), taint)


def deeper(state: Mapping[str, Any]) -> int:
    """Return the depth of a run that the run with this state begins. Raise `ExecutionError` if the depth exceeds
    `MOST_DEEP`."""
    depth = int(state.get(DEPTH) or 0) + 1
    if depth > MOST_DEEP:
        raise ExecutionError(
            f"Workflows call one another more than {MOST_DEEP} levels deep",
            fix="Remove the node by which a workflow calls itself.",
        )
    return depth


def child_of(state: Mapping[str, Any], to: Target, input_: Any, taint: Taint, depth: int) -> dict[str, Any]:
    """Return the state of a child run, for which this run waits; the child has no more tools than this run."""
    child = called_state(state, to.version, input_, taint=taint | to.taint, agent_id=to.agent.id)
    return {**child, **made_in(state), DEPTH: depth, RUN: {**child[RUN], "tools": state.get(RUN, {}).get("tools")}}


def begin_detached(
    tx: Transaction,
    execution: Execution,
    to: Target,
    input_: Any,
    *,
    taint: Taint,
    more: Mapping[str, Any],
    now: int,
    speaks_for: str = "",
) -> Execution:
    """Begin a separate run, in the same place and for the same person. Only a transfer sets `speaks_for`: it is the
    source of the run that the new run replaces."""
    state, text = execution.state, as_text(input_)
    source = f"{PREFIX}{execution.id}"
    outer = WorkState.from_json(state).run
    task = TaskSpec(text, tools=None if outer is None else outer.tools)
    wanted = NewWorkflowRun(
        workflow=to.workflow,
        agent=to.agent,
        address=WorkState.from_json(state).address,
        source=source,
        input=input_,
        trigger=text,
        principal_id=execution.principal_id,
        version=to.version.version,
        taint=taint,
        priority=execution.priority,
        more={
            **caller_limits(state).to_json(),
            **made_in(state),
            RUN: {**task.to_json(), "source": speaks_for or source},
            **more,
        },
    )
    begun = begin(tx, wanted, now)
    workflow_runs.join(tx, begun, execution, now)
    return begun


def transfer(tx: Transaction, execution: Execution, to: Target, input_: Any, *, taint: Taint, now: int) -> Execution:
    """Begin a run of the other workflow that replaces this run. The new run answers the turn, and its end is reported
    to the agent that began this run."""
    times = {TRANSFERS: int(execution.state.get(TRANSFERS) or 0) + 1}
    if is_run(execution):
        starter = execution.state.get(STARTER)
        more = {**times, **({STARTER: starter} if starter is not None else {})}
        source = source_of(execution)
        return begin_detached(tx, execution, to, input_, taint=taint, more=more, now=now, speaks_for=source)
    begun = lifecycle.begin(
        tx,
        tx.new_id(),
        to.workflow.graph,
        {**_state_of_turn(execution, to, input_), "taint": sorted(taint | to.taint), **times},
        lane=execution.lane,
        priority=execution.priority,
        principal_id=execution.principal_id,
        now=now,
    )
    return _take_turn(tx, execution, begun, now)


def _state_of_turn(execution: Execution, to: Target, input_: Any) -> dict[str, Any]:
    kept = {name: execution.state[name] for name in _CALLER_KEYS if name in execution.state}
    part = {
        "id": to.workflow.id,
        "version": to.version.version,
        "entry": entry_of(to.version.document),
        "trigger": as_text(input_),
        "input": input_,
    }
    return {"agent": to.agent.id, **with_authors(kept, to.version.authors), **made_in(execution.state), STATE: part}


def _take_turn(tx: Transaction, execution: Execution, begun: Execution, now: int) -> Execution:
    """Move the messages of the turn from `execution` to `begun`, which answers them from now on. Charge the model calls
    of `execution` now; the model calls of `begun` are charged with its answer."""
    charge_run(tx, execution, now)
    workflow_runs.take_place(tx, begun, execution, now)
    tx.messages.join_turn(execution.id, begun.id)
    newest = tx.messages.of_turn(begun.id)[-1]
    job = NewJob.answer(
        execution.lane,
        execution.priority,
        agent_id=WorkState.from_json(begun.state).agent,
        principal_id=newest.principal_id,
        message_id=newest.id,
        execution_id=begun.id,
        tokens=newest.tokens,
    )
    tx.jobs.add(job, now)
    note_begun(tx, begun, f"{PREFIX}{execution.id}", now)
    return begun
