"""`wait`: goes on later with what came. A due time in the database: nothing sleeps."""

from __future__ import annotations

from arvis.domain.executions import WaitKind
from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node, Pause
from arvis.workflows.runtime import log
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.visit import carried_of, leave

_MS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


def make(drawn: Drawn, parts: NodeParts) -> Node:
    del parts
    unit = str(drawn.data.get("unit") or "seconds")
    amount = drawn.data.get("amount") or 0

    async def wait(context: NodeContext) -> Decision:
        carried = carried_of(context)
        if context.answer is not None or not amount:
            return leave(context, drawn, carried, carried.output)
        text = f"waits for {amount} {unit}"
        log.write(context, [line(drawn.id, LogType.TIMER, text)])
        return Pause(WaitKind.TIMER, f"{drawn.label} {text}", until=context.now() + int(amount * _MS[unit]))

    return wait
