"""`sub-workflow`: another workflow works on it, as a run of its own below this one; its failure is this node's (behaviour.md 2.7). One
that is not waited for goes its own way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.executions import Answer, Execution
from arvis.domain.taint import Taint, taint_in
from arvis.domain.workflows import DEPTH, SAID, LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Call, Decision, Node
from arvis.ports.store import Transaction
from arvis.tasks.attachments import files_of, with_files
from arvis.tasks.outcome import child_end
from arvis.workflows.nodes.transfer import hand_over
from arvis.workflows.runtime.calls import begin_apart, child_of, deeper, target
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import carried_of, fill, give_up, leave, taint_of


def make(drawn: Drawn, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        carried = carried_of(context)
        if context.answer is not None:
            return await _ended(context, drawn, carried, parts, context.answer)
        to = await parts.store.read(target, context.execution, str(drawn.data.get("workflow") or ""))
        depth = deeper(context.state)
        given = fill(str(drawn.data.get("input") or ""), context, carried)
        input_ = given if given.strip() else carried.output
        taint = taint_of(context.state)
        if drawn.data.get("awaitResponse") is not False:
            return Call(to.workflow.graph, child_of(context.state, to, input_, taint, depth))
        context.record(begin_apart, context.execution, to, input_, taint=taint, more={DEPTH: depth}, now=context.now())
        write(context, [line(drawn.id, LogType.STEP_START, f"The workflow {to.workflow.slug} goes its own way.")])
        return leave(context, drawn, carried, carried.output)

    return visit


async def _ended(context: NodeContext, drawn: Drawn, carried: Token, parts: NodeParts, answer: Answer) -> Decision:
    end, result = child_end(answer), (answer.value or {}).get("result") or {}
    taint, changes = await parts.store.read(_brought, context.execution, drawn.id)
    if end.outcome is None:
        return give_up(context, drawn, carried, end.error or "The workflow failed.", **changes)
    if (transferred := result.get("transferred")) is not None:
        return await hand_over(context, drawn, parts, transferred["workflow"], transferred["input"], read=taint)
    return leave(context, drawn, carried, result.get("output"), taint=taint, **changes)


def _brought(tx: Transaction, execution: Execution, node_id: str) -> tuple[Taint, dict[str, Any]]:
    """What the runs below have read, and as changes of the state what they made, and said in the chat last."""
    states: list[Mapping[str, Any]] = [child.state for child in tx.executions.children_of(execution.id)]
    files = with_files(execution.state, [file for state in states for file in files_of(state)])
    said = [text for name, text in (states[-1] if states else {}).items() if name.startswith(SAID)]
    return taint_in(*states), {**files, **{f"{SAID}{node_id}/{number}": text for number, text in enumerate(said)}}
