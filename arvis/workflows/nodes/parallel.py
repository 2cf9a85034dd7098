"""`parallel`: passes on what came, to everything behind it at once; what fails there is told at its merge."""

from __future__ import annotations

from dataclasses import replace

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.regions import opened
from arvis.workflows.runtime.visit import carried_of, leave


def make(drawn: Drawn, parts: NodeParts) -> Node:
    del parts

    async def spread(context: NodeContext) -> Decision:
        carried = carried_of(context)
        inside = replace(carried, regions=opened(carried.regions, drawn.id, context.visit))
        return leave(context, drawn, inside, carried.output)

    return spread
