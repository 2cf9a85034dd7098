"""`wait`: continues later with its input. The due time is in the database: no process sleeps."""

from __future__ import annotations

from arvis.domain.executions import WaitKind
from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node, Pause
from arvis.workflows.runtime import log
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import succeed, token_of

_MS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts
    unit = str(spec.data.get("unit") or "seconds")
    amount = spec.data.get("amount") or 0

    async def wait(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is not None or not amount:
            return succeed(context, spec, token, token.output)
        text = f"waits for {amount} {unit}"
        log.write(context, [line(spec.id, LogType.TIMER, text)])
        return Pause(WaitKind.TIMER, f"{spec.label} {text}", until=context.now() + int(amount * _MS[unit]))

    return wait
