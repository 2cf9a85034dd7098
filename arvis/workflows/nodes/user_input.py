"""`user-input`: the person's next message in the chat of the run is the output; any person with the right to answer
may do so elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.executions import WaitKind
from arvis.domain.taint import CLEAN, Label
from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node, Pause
from arvis.workflows.nodes.approval import MINUTE_MS, name_of_person
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import fail_branch, fill, succeed, token_of

_QUESTION = "What do you say?"


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is None:
            prompt = fill(str(spec.data.get("prompt") or "").strip() or _QUESTION, context, token)
            write(context, [line(spec.id, LogType.WAIT_INPUT, prompt)])
            minutes = spec.data.get("deadlineMinutes")
            until = context.now() + int(float(minutes) * MINUTE_MS) if minutes else None
            return Pause(WaitKind.USER, prompt, until=until)
        if context.answer.expired:
            return fail_branch(context, spec, token, "No answer arrived in time.")
        value = context.answer.value if isinstance(context.answer.value, Mapping) else {}
        text = str(value.get("text") or value.get("note") or "")
        who = await parts.store.read(name_of_person, context.answer.by)
        # A person who answers for another one does not get that person's rights.
        taint = CLEAN if context.answer.by == context.execution.principal_id else frozenset({Label.PEOPLE})
        log = [line(spec.id, LogType.INPUT_RECEIVED, f"{who}: {text}")]
        return succeed(context, spec, token, text, log=log, taint=taint)

    return visit
