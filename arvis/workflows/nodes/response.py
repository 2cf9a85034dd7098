"""`response`: says something where the run was asked for, at once. What ends the run is its reply, and is said by its end, once."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import Address
from arvis.domain.taint import CLEAN, Taint
from arvis.domain.workflows import SAID, LogType, as_text
from arvis.engine import lifecycle
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.messaging import messages
from arvis.messaging.messages import post, unsilenced
from arvis.ports.store import Transaction
from arvis.tasks.task import is_run, source_of
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import FINISH, Drawn, NodeParts
from arvis.workflows.runtime.replies import error_in
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import ask_model, carried_of, fill, give_up, leave, said_by, taint_of

_WORD_IT = (
    "Word the following as a message to the person who asked. Answer with that message and nothing else.\n\n{text}"
)


def make(drawn: Drawn, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        carried = carried_of(context)
        text = fill(str(drawn.data.get("template") or ""), context, carried)
        text = text if text.strip() else as_text(carried.output)
        if not drawn.data.get("compose"):
            return _say(context, drawn, carried, text)
        if context.answer is None:
            return await ask_model(context, drawn, carried, _WORD_IT.format(text=text), store=parts.store)
        said = await said_by(context, store=parts.store)
        if wrong := said.error or error_in(said.text, ""):
            return give_up(context, drawn, carried, wrong, kind=LogType.LLM_ERROR)
        return _say(context, drawn, carried, said.text, said.taint)

    return visit


def _say(context: NodeContext, drawn: Drawn, carried: Token, text: str, taint: Taint = CLEAN) -> Decision:
    log = [line(drawn.id, LogType.LLM_RESPONSE, text)] if drawn.data.get("compose") else []
    if text.strip():
        read = taint_of(context.state) | taint
        context.record(_speak, context.execution.id, drawn.id, text, taint=read, now=context.now())
        context.commit_first()
    return leave(context, drawn, carried, text, log=log, taint=taint, **dict[str, Any]({SAID + drawn.id: text}))


def _speak(tx: Transaction, execution_id: str, node_id: str, text: str, *, taint: Taint, now: int) -> None:
    """In the turn that it works for, else where its run posts; not where this step leads to the end of all, which says it."""
    execution = tx.executions.get(execution_id)
    if execution is None:
        return
    root = lifecycle.root_of(tx, execution)
    if root.id == execution.id and _is_left_to_the_end(tx, execution, node_id):
        return
    if tx.messages.of_turn(root.id):
        messages.progress(tx, execution, text, now, taint=taint)
    elif is_run(root) and (agent := tx.agents.get(execution.state["agent"])) is not None and unsilenced(text):
        post(
            tx,
            agent=agent,
            address=Address.from_json(root.state["address"]),
            text=text,
            source=source_of(root),
            taint=taint,
            priority=execution.priority,
            now=now,
        )


def _is_left_to_the_end(tx: Transaction, execution: Execution, node_id: str) -> bool:
    """Whether the run ends with what this node gave: its end says it."""
    if execution.status is ExecutionStatus.DONE:
        return bool((execution.result or {}).get("last") == node_id)
    ends = [cursor for cursor in tx.executions.cursors(execution.id) if cursor.node == FINISH]
    return any(Token.from_json(cursor.value).source == node_id for cursor in ends)
