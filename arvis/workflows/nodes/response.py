"""`response`: posts a message where the run was requested, immediately. If it ends the run, its text is the run's
reply and is posted once, by the end of the run."""

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
from arvis.workflows.runtime.parts import FINISH, NodeParts, NodeSpec
from arvis.workflows.runtime.replies import error_in
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import ask_model, fail_branch, fill, model_reply, succeed, taint_of, token_of

_PHRASE_PROMPT = (
    "Word the following as a message to the person who asked. Answer with that message and nothing else.\n\n{text}"
)


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        text = fill(str(spec.data.get("template") or ""), context, token)
        text = text if text.strip() else as_text(token.output)
        if not spec.data.get("compose"):
            return _say(context, spec, token, text)
        if context.answer is None:
            return await ask_model(context, spec, token, _PHRASE_PROMPT.format(text=text), store=parts.store)
        reply = await model_reply(context, store=parts.store)
        if wrong := reply.error or error_in(reply.text, ""):
            return fail_branch(context, spec, token, wrong, kind=LogType.LLM_ERROR)
        return _say(context, spec, token, reply.text, reply.taint)

    return visit


def _say(context: NodeContext, spec: NodeSpec, token: Token, text: str, taint: Taint = CLEAN) -> Decision:
    log = [line(spec.id, LogType.LLM_RESPONSE, text)] if spec.data.get("compose") else []
    if text.strip():
        read = taint_of(context.state) | taint
        context.record(_speak, context.execution.id, spec.id, text, taint=read, now=context.now())
        context.commit_first()
    return succeed(context, spec, token, text, log=log, taint=taint, **dict[str, Any]({SAID + spec.id: text}))


def _speak(tx: Transaction, execution_id: str, node_id: str, text: str, *, taint: Taint, now: int) -> None:
    """Post the text in the turn that the run answers, else in the channel of the run; not if this step leads to the
    end of the run, which posts it."""
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
    """Return whether the run ends with this node's output: then the end of the run posts it."""
    if execution.status is ExecutionStatus.DONE:
        return bool((execution.result or {}).get("last") == node_id)
    ends = [cursor for cursor in tx.executions.cursors(execution.id) if cursor.node == FINISH]
    return any(Token.from_json(cursor.value).source == node_id for cursor in ends)
