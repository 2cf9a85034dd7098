"""The first and the last node of every drawn graph: where the run begins, and what comes of it."""

from __future__ import annotations

from collections.abc import Collection

from arvis.agents import workflow_family
from arvis.agents.outcome import WorkOutcome, WorkStatus
from arvis.agents.workflow_runs import note_begun, source_for
from arvis.domain.executions import Execution
from arvis.domain.runs import RunResult
from arvis.domain.workflows import STATE, SYSTEM, LogType, as_text
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, End, Fail, Goto, Node
from arvis.ports.store import Transaction
from arvis.workflows import log
from arvis.workflows.carried import Carried
from arvis.workflows.log import line
from arvis.workflows.parts import name_of
from arvis.workflows.visiting import carried_of, taint_of


def begin_node(drawn: Collection[str], error: str = "") -> Node:
    """To the node at which this run begins, with what it was given; with an `error` the run fails instead."""

    async def begin(context: NodeContext) -> Decision:
        context.record(_ensure_run, context.execution, context.now())
        about = context.state[STATE]
        entry = str(about.get("entry", ""))
        wrong = error or ("" if entry in drawn else f"The workflow has no node “{entry}” to begin at.")
        if wrong:
            log.write(context, [line(SYSTEM, LogType.ERROR, wrong), line(SYSTEM, LogType.RUN_END, "failed")])
            log.announce_state(context)
            return Fail(wrong)
        log.announce_state(context)
        came = about.get("carried")
        carried = Carried.from_json(came) if came is not None else Carried(output=about.get("input"))
        return Goto(name_of(entry), carried.to_json())

    return begin


def finish_node() -> Node:
    """The result of a run is what its last branch ended with, in the form that every run has."""

    async def finish(context: NodeContext) -> Decision:
        carried = carried_of(context)
        output = carried.output
        text = as_text(output)
        outcome = WorkOutcome(WorkStatus.DONE, visible=text)
        log.write_state(context, LogType.RUN_END, "completed")
        result = RunResult(text, "", "", "").to_json() | {
            "outcome": outcome.to_json(),
            "output": output,
            "last": carried.source,
        }
        return End(result, taint=sorted(taint_of(context.state)), status_note=outcome.note)

    return finish


def _ensure_run(tx: Transaction, execution: Execution, now: int) -> None:
    """A workflow that another one calls is a run, too; who else begins one has written its row."""
    wait = tx.waits.get(execution.parent_wait) if execution.parent_wait is not None else None
    caller = tx.executions.get(wait.execution_id) if wait is not None else None
    if caller is not None:
        workflow_family.join(tx, execution, caller, now)
    note_begun(tx, execution, source_for(execution, caller.id if caller is not None else None), now)
