"""`router`: an agent names one of the routes. If its answer names none, it is asked once more; then the run takes the
first route, and its log, its node and the explanation of the message carry a warning (behaviour.md 2.7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.taint import Label
from arvis.domain.workflows import LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Call, Decision, Node
from arvis.workflows.runtime import node_state
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import (
    ModelReply,
    ask_model,
    fail_branch,
    fill,
    is_tainted,
    model_reply,
    succeed,
    token_of,
)

_TASK = """\
Choose the route for the text below. Answer with exactly one of these labels:
{routes}
{hint}
Text:
{output}"""
_REMINDER = "Your earlier answer named no route. Answer with one of these labels only: {labels}."
_NO_LABEL = (
    "The agent named none of the routes, even when asked again, so the run takes the first one, “{label}”. Describe the routes "
    "more clearly, or put a route for everything else first."
)
_ENDS = re.compile(r"^[\W_]+|[\W_]+$")


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    return _Router(spec, parts).visit


class _Router:
    def __init__(self, spec: NodeSpec, parts: NodeParts) -> None:
        self._spec = spec
        self._store = parts.store
        self._routes: Sequence[Mapping[str, Any]] = spec.data.get("routes") or ()

    async def visit(self, context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is None:
            return await self._ask(context, token, self._task(context, token))
        reply = await model_reply(context, store=self._store)
        if reply.error:
            return fail_branch(
                context,
                self._spec,
                token,
                reply.error,
                kind=LogType.LLM_ERROR,
                taint=reply.taint,
                **node_state.ended(context),
            )
        index = _chosen(self._routes, reply.text)
        if index is None and not node_state.kept(context):
            answered = line(self._spec.id, LogType.LLM_RESPONSE, reply.text)
            write(
                context,
                [
                    answered,
                    line(
                        self._spec.id,
                        LogType.LOGIC_CHECK,
                        "The answer has no label, so the question is asked once more.",
                    ),
                ],
            )
            again = f"{self._task(context, token)}\n\n{self._reminder()}"
            now = node_state.keeping(context, {"asked": 2, "read": sorted(reply.taint)})
            return await self._ask(context, token, again, **now)
        return self._succeed(context, token, reply, index)

    def _task(self, context: NodeContext, token: Token) -> str:
        hint = fill(str(self._spec.data.get("prompt") or ""), context, token)
        named = "\n".join(f"- {route['label']}{_described(route)}" for route in self._routes)
        return _TASK.format(routes=named, hint=hint and f"{hint}\n", output=as_text(token.output))

    def _reminder(self) -> str:
        return _REMINDER.format(labels=", ".join(f"“{route['label']}”" for route in self._routes))

    async def _ask(self, context: NodeContext, token: Token, prompt: str, **changes: Any) -> Call:
        return await ask_model(context, self._spec, token, prompt, store=self._store, **changes)

    def _succeed(self, context: NodeContext, token: Token, reply: ModelReply, index: int | None) -> Decision:
        """Take the route of the label, or the first one with a warning."""
        lines = [line(self._spec.id, LogType.LLM_RESPONSE, reply.text)]
        if index is None:
            first = self._routes[0]["label"]
            lines.append(line(self._spec.id, LogType.WARNING, _NO_LABEL.format(label=first)))
        taken = index or 0
        lines.append(line(self._spec.id, LogType.LOGIC_CHECK, f"The route is “{self._routes[taken]['label']}”."))
        earlier = frozenset(map(Label, node_state.kept(context).get("read") or ()))
        return succeed(
            context,
            self._spec,
            token,
            token.output,
            handle=f"route-{taken}",
            log=lines,
            tainted=is_tainted(context),
            taint=reply.taint | earlier,
            **node_state.ended(context),
        )


def _described(route: Mapping[str, Any]) -> str:
    return f": {route['description']}" if route.get("description") else ""


def _chosen(routes: Sequence[Mapping[str, Any]], reply: str) -> int | None:
    """Return the route whose label is the whole answer, ignoring case and surrounding punctuation; None if no label
    matches, or more than one."""
    for form in (_exactly, _roughly):
        wanted = form(reply)
        found = [index for index, route in enumerate(routes) if wanted and form(str(route["label"])) == wanted]
        if len(found) == 1 or (found and form is _exactly):
            return found[0]
    return None


def _exactly(text: str) -> str:
    return " ".join(text.split()).casefold()


def _roughly(text: str) -> str:
    """Return the text without punctuation at its ends: models put labels into quotes and bold type."""
    return _ENDS.sub("", _exactly(text))
