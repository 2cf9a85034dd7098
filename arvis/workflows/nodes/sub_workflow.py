"""`sub-workflow`: another workflow does the work, as a run below this one; its failure is this node's failure
(behaviour.md 2.7). A run that is not waited for continues independently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.executions import Answer, Execution
from arvis.domain.taint import Taint, taint_in
from arvis.domain.workflows import DEPTH, SAID, LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Call, Decision, Node
from arvis.ports.store import Transaction
from arvis.tasks.state import child_end, files_of, with_files
from arvis.workflows.nodes.transfer import hand_over
from arvis.workflows.runtime.calls import begin_detached, child_of, deeper, target
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import fail_branch, fill, succeed, taint_of, token_of


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is not None:
            return await _ended(context, spec, token, parts, context.answer)
        to = await parts.store.read(target, context.execution, str(spec.data.get("workflow") or ""))
        depth = deeper(context.state)
        given = fill(str(spec.data.get("input") or ""), context, token)
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
    taint, changes = await parts.store.read(_brought, context.execution, spec.id)
    if end.outcome is None:
        return fail_branch(context, spec, token, end.error or "The workflow failed.", **changes)
    if (transferred := result.get("transferred")) is not None:
        return await hand_over(context, spec, parts, transferred["workflow"], transferred["input"], read=taint)
    return succeed(context, spec, token, result.get("output"), taint=taint, **changes)


def _brought(tx: Transaction, execution: Execution, node_id: str) -> tuple[Taint, dict[str, Any]]:
    """Return the taint of the runs below, and as changes of the state their files and their last messages in the
    chat."""
    states: list[Mapping[str, Any]] = [child.state for child in tx.executions.children_of(execution.id)]
    files = with_files(execution.state, [file for state in states for file in files_of(state)])
    texts = [text for name, text in (states[-1] if states else {}).items() if name.startswith(SAID)]
    return taint_in(*states), {**files, **{f"{SAID}{node_id}/{number}": text for number, text in enumerate(texts)}}
