"""What is true of every visit of a drawn node: its limits, the lines of the log that begin it, and what its own errors mean."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.errors import ExecutionError
from arvis.domain.workflows import SYSTEM, LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Fail, Node, Pause
from arvis.workflows.runtime import log
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import Drawn
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import carried_of, give_up

#: Visits that nobody drew: that of the beginning.
_BEGINNING = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one run: `steps` of all nodes together, `visits` of one node on one way, or in one round of the loop that it is in."""

    steps: int
    visits: int


def guarded(node: Node, drawn: Drawn, limits: Limits) -> Node:
    """The node, kept within its limits. What makes no sense to it is an error of its branch, not of the engine."""

    async def visit(context: NodeContext) -> Decision:
        carried = carried_of(context)
        if (excess := _excess(context, drawn, carried, limits)) is not None:
            log.write(context, [line(drawn.id, LogType.ERROR, excess), line(SYSTEM, LogType.RUN_END, "failed")])
            log.announce_state(context)
            return Fail(excess)
        if context.answer is None:
            log.write(context, _begun(drawn, carried))
        try:
            decision = await node(context)
        except ExecutionError as error:
            return give_up(context, drawn, carried, " ".join(filter(None, [f"{error.what}.", error.why, error.fix])))
        if isinstance(decision, Pause):
            log.announce_state(context)
        return decision

    return visit


def _excess(context: NodeContext, drawn: Drawn, carried: Token, limits: Limits) -> str | None:
    if context.visited - _BEGINNING >= limits.steps:
        return f"The run made more than {limits.steps} steps; it was at “{drawn.label}”."
    if carried.visits.get(drawn.id, 0) >= limits.visits:
        return f"The run came to “{drawn.label}” more than {limits.visits} times."
    return None


def _begun(drawn: Drawn, carried: Token) -> list[log.Line]:
    lines = [line(drawn.id, LogType.STEP_START, f"{drawn.kind.label}: {drawn.label}")]
    if carried.joined:
        count = len(carried.joined)
        lines.append(
            line(drawn.id, LogType.JOIN, f"{count} {'branch has' if count == 1 else 'branches have'} come together")
        )
    return lines
