"""The nodes that choose one of their outputs, and pass their input on unchanged.

- `if` chooses the output of the first condition that holds for the node's input.
- `condition` chooses between true and false. If the input has the fields that the rules of the node name, the rules
  decide. Otherwise an agent decides, and only its answers true and yes count as true.
- `router`: an agent names one of the routes. If its answer names no route, the agent is asked once more. If the second
  answer names no route either, the run takes the first one, and the log, the node and the explanation of the message
  show a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.regex import regex
from arvis.domain.taint import Label
from arvis.domain.workflows import LogType, as_text
from arvis.engine.graph import Decision, Node, NodeContext
from arvis.workflows.runtime.conditions import checks, decide, says_yes
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import (
    ModelReply,
    ask_model,
    drop_state,
    fail_branch,
    fill,
    is_tainted,
    keep_state,
    kept_state,
    model_reply,
    succeed,
    token_of,
)

# -- if ----------------------------------------------------------------------------------------------------------------


_FALLBACK = "false"


def make_if(spec: NodeSpec, parts: NodeParts) -> Node:
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
    wanted = f"“{expected}”" if expected else "an empty text, which counts as false"
    verb = "contains" if operator == "contains" else "equals"
    return f"The output {verb} {wanted}: {'yes' if holds else 'no'}"


# -- condition ---------------------------------------------------------------------------------------------------------


_CONDITION_TASK = """\
Judge whether {combined} of what is shown below. Answer with true or false and nothing else.
{rules}

Judge this:
{output}"""
_UNCLEAR = "The agent answered neither true nor false, which counts as false."


def make_condition(spec: NodeSpec, parts: NodeParts) -> Node:
    rules: Sequence[Mapping[str, Any]] = spec.data.get("rules") or ()
    combinator = str(spec.data.get("combinator") or "and")

    async def judge(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is not None:
            return await _answered(context, spec, parts, token)
        holds = decide(rules, combinator, token.output, lambda text: fill(text, context, token))
        if holds is not None:
            lines = [line(spec.id, LogType.LOGIC_CHECK, f"By the data: {_word(holds)}")]
            return succeed(
                context,
                spec,
                token,
                token.output,
                handle=_handle(holds),
                log=lines,
                tainted=is_tainted(context),
            )
        prompt = _CONDITION_TASK.format(
            combined="one of these holds" if combinator == "or" else "all of these hold",
            rules="\n".join(f"- {_as_text(rule, context, token)}" for rule in rules),
            output=as_text(token.output),
        )
        return await ask_model(context, spec, prompt, store=parts.store)

    return judge


async def _answered(context: NodeContext, spec: NodeSpec, parts: NodeParts, token: Token) -> Decision:
    reply = await model_reply(context, store=parts.store)
    if reply.error:
        return fail_branch(context, spec, token, reply.error, kind=LogType.LLM_ERROR, taint=reply.taint)
    judged = says_yes(reply.text)
    holds = judged is True
    lines = [
        line(spec.id, LogType.LLM_RESPONSE, reply.text),
        *([line(spec.id, LogType.WARNING, _UNCLEAR)] if judged is None else []),
        line(spec.id, LogType.LOGIC_CHECK, f"By the agent's judgement: {_word(holds)}"),
    ]
    return succeed(
        context,
        spec,
        token,
        token.output,
        handle=_handle(holds),
        log=lines,
        tainted=is_tainted(context),
        taint=reply.taint,
    )


def _as_text(rule: Mapping[str, Any], context: NodeContext, token: Token) -> str:
    operator = str(rule.get("operator") or "equals").replace("_", " ")
    value = fill(str(rule.get("value") or ""), context, token)
    field = fill(str(rule.get("field") or ""), context, token)
    return " ".join(filter(None, [field or "the whole", operator, value]))


def _handle(holds: bool) -> str:
    return f"condition-{_word(holds)}"


def _word(holds: bool) -> str:
    return "true" if holds else "false"


# -- router ------------------------------------------------------------------------------------------------------------


_ROUTER_TASK = """\
Choose the route for the text below. Answer with exactly one of these labels:
{routes}
{hint}
Text:
{output}"""
_REMINDER = "Your earlier answer named no route. Answer with one of these labels only: {labels}."
_NO_LABEL = (
    "The agent named none of the routes, even when asked again, so the run takes the first one, “{label}”. Describe "
    "the routes more clearly, or put a route for everything else first."
)
_ENDS = regex(r"^[\W_]+|[\W_]+$")


def make_router(spec: NodeSpec, parts: NodeParts) -> Node:
    return _Router(spec, parts).visit


class _Router:
    def __init__(self, spec: NodeSpec, parts: NodeParts) -> None:
        self._spec = spec
        self._store = parts.store
        self._routes: Sequence[Mapping[str, Any]] = spec.data.get("routes") or ()

    async def visit(self, context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is None:
            return await ask_model(context, self._spec, self._task(context, token), store=self._store)
        reply = await model_reply(context, store=self._store)
        if reply.error:
            return fail_branch(
                context,
                self._spec,
                token,
                reply.error,
                kind=LogType.LLM_ERROR,
                taint=reply.taint,
                **drop_state(context),
            )
        index = _chosen(self._routes, reply.text)
        if index is None and not kept_state(context):
            answered = line(self._spec.id, LogType.LLM_RESPONSE, reply.text)
            text = "The answer names no route, so the question is asked once more."
            write(context, [answered, line(self._spec.id, LogType.LOGIC_CHECK, text)])
            labels = ", ".join(f"“{route['label']}”" for route in self._routes)
            again = f"{self._task(context, token)}\n\n{_REMINDER.format(labels=labels)}"
            now = keep_state(context, {"asked": 2, "read": sorted(reply.taint)})
            return await ask_model(context, self._spec, again, store=self._store, **now)
        return self._succeed(context, token, reply, index)

    def _task(self, context: NodeContext, token: Token) -> str:
        hint = fill(str(self._spec.data.get("prompt") or ""), context, token)
        named = [
            f"- {route['label']}: {route['description']}" if route.get("description") else f"- {route['label']}"
            for route in self._routes
        ]
        return _ROUTER_TASK.format(routes="\n".join(named), hint=hint and f"{hint}\n", output=as_text(token.output))

    def _succeed(self, context: NodeContext, token: Token, reply: ModelReply, index: int | None) -> Decision:
        """Take the route that the agent named (`index`). If `index` is None, take the first route and log a warning."""
        lines = [line(self._spec.id, LogType.LLM_RESPONSE, reply.text)]
        if index is None:
            first = self._routes[0]["label"]
            lines.append(line(self._spec.id, LogType.WARNING, _NO_LABEL.format(label=first)))
        taken = index or 0
        lines.append(line(self._spec.id, LogType.LOGIC_CHECK, f"The route is “{self._routes[taken]['label']}”."))
        earlier = frozenset(map(Label, kept_state(context).get("read") or ()))
        return succeed(
            context,
            self._spec,
            token,
            token.output,
            handle=f"route-{taken}",
            log=lines,
            tainted=is_tainted(context),
            taint=reply.taint | earlier,
            **drop_state(context),
        )


def _chosen(routes: Sequence[Mapping[str, Any]], reply: str) -> int | None:
    """Return the index of the route whose label is the whole answer, ignoring case. If no label matches, compare again
    without punctuation at the ends. Return None if that comparison finds no label, or more than one."""
    for form in (_exactly, _roughly):
        wanted = form(reply)
        found = [index for index, route in enumerate(routes) if wanted and form(str(route["label"])) == wanted]
        if len(found) == 1 or (found and form is _exactly):
            return found[0]
    return None


def _exactly(text: str) -> str:
    return " ".join(text.split()).casefold()


def _roughly(text: str) -> str:
    """Return the text without punctuation at its ends, because models put labels into quotes and bold type."""
    return _ENDS.sub("", _exactly(text))
