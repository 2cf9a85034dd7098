"""`if` (seed 002): takes the output of the first condition that holds for the previous output, and passes that on
unchanged."""

from __future__ import annotations

from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.conditions import checks
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import fill, is_tainted, succeed, token_of

_FALLBACK = "false"


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def choose(context: NodeContext) -> Decision:
        token = token_of(context)
        done = checks(spec.data.get("conditions") or (), token.output, lambda text: fill(text, context, token))
        lines = [
            line(spec.id, LogType.LOGIC_CHECK, f"{_said(each.operator, each.expected, each.holds)}") for each in done
        ]
        handle = next((each.handle for each in done if each.holds), _FALLBACK)
        return succeed(context, spec, token, token.output, handle=handle, log=lines, tainted=is_tainted(context))

    return choose


def _said(operator: str, expected: str, holds: bool) -> str:
    wanted = f"“{expected}”" if expected else "nothing, which never holds"
    verb = "contains" if operator == "contains" else "equals"
    return f"The output {verb} {wanted}: {'yes' if holds else 'no'}"
