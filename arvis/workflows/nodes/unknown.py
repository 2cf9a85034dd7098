"""An unknown kind (seed 002): writes a warning, gives no output, and the run continues."""

from __future__ import annotations

from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import succeed, token_of


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def skip(context: NodeContext) -> Decision:
        lines = [line(spec.id, LogType.WARNING, f"The node's kind “{spec.kind.name}” is unknown, so it is skipped.")]
        return succeed(context, spec, token_of(context), None, log=lines)

    return skip
