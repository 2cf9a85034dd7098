"""`merge`: branches have become one; its output is the list of theirs. Where all of them failed, it fails itself."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.visit import carried_of, give_up, leave


def make(drawn: Drawn, parts: NodeParts) -> Node:
    del parts

    async def merge(context: NodeContext) -> Decision:
        carried = carried_of(context)
        if carried.failed is not None:
            error = f"too few of its branches came through: {carried.failed}"
            return give_up(context, drawn, replace(carried, failed=None), error)
        fallen = [error for _, error in carried.joined if error]
        text = f"{len(fallen)} of {len(carried.joined)} branches failed: {'; '.join(fallen)}"
        lines = [line(drawn.id, LogType.WARNING, text)] if fallen else []
        return leave(context, drawn, carried, carried.output, log=lines)

    return merge
