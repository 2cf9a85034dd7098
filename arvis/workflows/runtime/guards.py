"""Wrap every visit of a node: check its limits, log its beginning, and handle its errors."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.errors import ExecutionError
from arvis.domain.workflows import SYSTEM, LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Fail, Node, Pause
from arvis.workflows.runtime import log
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeSpec
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import fail_branch, token_of

#: The visits that no node causes: that of the beginning.
_BEGINNING = 1


@dataclass(frozen=True, slots=True)
class VisitLimits:
    """The limits of one run: `steps` of all nodes together, `visits` of one node on one path, or in one round of the
    loop that it is in."""

    steps: int
    visits: int


def guarded(node: Node, spec: NodeSpec, limits: VisitLimits) -> Node:
    """Return the node with its limits enforced. An error in its fields fails its branch, not the engine."""

    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        if (excess := _excess(context, spec, token, limits)) is not None:
            log.write(context, [line(spec.id, LogType.ERROR, excess), line(SYSTEM, LogType.RUN_END, "failed")])
            log.announce_state(context)
            return Fail(excess)
        if context.answer is None:
            log.write(context, _begun(spec, token))
        try:
            decision = await node(context)
        except ExecutionError as error:
            return fail_branch(context, spec, token, " ".join(filter(None, [f"{error.what}.", error.why, error.fix])))
        if isinstance(decision, Pause):
            log.announce_state(context)
        return decision

    return visit


def _excess(context: NodeContext, spec: NodeSpec, token: Token, limits: VisitLimits) -> str | None:
    if context.visited - _BEGINNING >= limits.steps:
        return f"The run made more than {limits.steps} steps; it was at “{spec.label}”."
    if token.visits.get(spec.id, 0) >= limits.visits:
        return f"The run visited “{spec.label}” more than {limits.visits} times."
    return None


def _begun(spec: NodeSpec, token: Token) -> list[log.Line]:
    lines = [line(spec.id, LogType.STEP_START, f"{spec.kind.label}: {spec.label}")]
    if token.joined:
        count = len(token.joined)
        lines.append(
            line(spec.id, LogType.JOIN, f"{count} {'branch has' if count == 1 else 'branches have'} come together")
        )
    return lines
