"""`router`: an agent names one of the routes. Whatever else it says means the first one (behaviour.md 2.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.workflows import LogType, as_text
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, Node
from arvis.workflows.log import line
from arvis.workflows.parts import Drawn, NodeParts
from arvis.workflows.visiting import ask_model, carried_of, fill, give_up, is_tainted, leave, said_by

_TASK = """\
Choose the route for what is shown below. Answer with exactly one of these labels and nothing else:
{routes}
{hint}
What to choose for:
{output}"""


def make(drawn: Drawn, parts: NodeParts) -> Node:
    routes: Sequence[Mapping[str, Any]] = drawn.data.get("routes") or ()

    async def choose(context: NodeContext) -> Decision:
        carried = carried_of(context)
        if context.answer is None:
            hint = fill(str(drawn.data.get("prompt") or ""), context, carried)
            named = "\n".join(f"- {route['label']}{_described(route)}" for route in routes)
            prompt = _TASK.format(routes=named, hint=hint and f"{hint}\n", output=as_text(carried.output))
            return await ask_model(context, drawn, carried, prompt, store=parts.store)
        said = await said_by(context, store=parts.store)
        if said.error:
            return give_up(context, drawn, carried, said.error, kind=LogType.LLM_ERROR, taint=said.taint)
        index = _chosen(routes, said.text)
        lines = [
            line(drawn.id, LogType.LLM_RESPONSE, said.text),
            line(drawn.id, LogType.LOGIC_CHECK, f"The route is “{routes[index]['label']}”."),
        ]
        return leave(
            context,
            drawn,
            carried,
            carried.output,
            handle=f"route-{index}",
            log=lines,
            tainted=is_tainted(context),
            taint=said.taint,
        )

    return choose


def _described(route: Mapping[str, Any]) -> str:
    return f": {route['description']}" if route.get("description") else ""


def _chosen(routes: Sequence[Mapping[str, Any]], said: str) -> int:
    """The route of this label, whatever its case; else the first."""
    wanted = said.strip().strip("\"'`.*").lower()
    labels = [str(route["label"]).strip().lower() for route in routes]
    return labels.index(wanted) if wanted in labels else 0
