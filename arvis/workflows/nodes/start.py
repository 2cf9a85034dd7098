"""`start` and triggers: the beginning of a run. The output is the input of the run, else the text of the node."""

from __future__ import annotations

from arvis.domain.workflows import STATE, LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import succeed, token_of


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def begin(context: NodeContext) -> Decision:
        given = context.state[STATE].get("input")
        output = spec.data.get("initialInput") or "" if given in (None, "") else given
        lines = [line(spec.id, LogType.START_PROMPT, as_text(output))]
        return succeed(context, spec, token_of(context), output, log=lines)

    return begin
