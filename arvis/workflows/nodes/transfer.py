"""`transfer`: ends this run, and those that called it; another workflow continues with its output, in the same place
and for the same person. That is a separate run with its own log, independent of this workflow's nodes. It answers the
turn."""

from __future__ import annotations

from typing import Any

from arvis.domain.errors import ExecutionError
from arvis.domain.runs import RunResult
from arvis.domain.taint import CLEAN, Taint
from arvis.domain.workflows import SYSTEM, LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, End, Node
from arvis.tasks.state import WorkOutcome, WorkStatus
from arvis.turns.workflow_results import STARTER
from arvis.workflows.runtime.calls import MOST_TRANSFERS, TRANSFERS, target, transfer
from arvis.workflows.runtime.log import announce_state, line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import taint_of, token_of

_STATUS = "transferred"


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        return await hand_over(context, spec, parts, str(spec.data.get("workflow") or ""), token.output)

    return visit


async def hand_over(
    context: NodeContext, spec: NodeSpec, parts: NodeParts, name: str, output: Any, *, read: Taint = CLEAN
) -> Decision:
    """Transfer the run. The outermost run begins the other one; a run below it only returns the request to its
    caller."""
    if int(context.state.get(TRANSFERS) or 0) >= MOST_TRANSFERS:
        raise ExecutionError(
            f"It was transferred {MOST_TRANSFERS} times already", fix="remove one of the transfers from the cycle"
        )
    to = await parts.store.read(target, context.execution, name)
    taint = taint_of(context.state) | read
    changes: dict[str, Any] = {"taint": sorted(taint)}
    if context.execution.parent_wait is None:
        context.record(transfer, context.execution, to, output, taint=taint, now=context.now())
        changes[STARTER] = None
    summary = f"The run continues in the workflow {to.workflow.slug}."
    write(context, [line(spec.id, LogType.TRANSFER, summary), line(SYSTEM, LogType.RUN_END, _STATUS)])
    announce_state(context)
    result = RunResult("", "", "", "").to_json() | {"outcome": WorkOutcome(WorkStatus.DONE).to_json()}
    gone = {"workflow": to.workflow.id, "input": output}
    return End({**result, "output": output, _STATUS: gone}, **changes)
