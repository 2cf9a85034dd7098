"""`parallel`: passes its input to all following nodes at once; failures of its branches are reported at its merge."""

from __future__ import annotations

from dataclasses import replace

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.regions import opened
from arvis.workflows.runtime.visit import succeed, token_of


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def spread(context: NodeContext) -> Decision:
        token = token_of(context)
        inside = replace(token, regions=opened(token.regions, spec.id, context.visit))
        return succeed(context, spec, inside, token.output)

    return spread
