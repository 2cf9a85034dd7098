"""`condition`: true or false, by the data if it has the fields, else by an agent; only true and yes pass
(behaviour.md 2.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.workflows import LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.conditions import decide, says_yes
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import ask_model, fail_branch, fill, is_tainted, model_reply, succeed, token_of

_TASK = """\
Judge whether {combined} of what is shown below. Answer with true or false and nothing else.
{rules}

Judge this:
{output}"""
_UNCLEAR = "The agent answered neither true nor false, which counts as false."


def make(spec: NodeSpec, parts: NodeParts) -> Node:
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
        prompt = _TASK.format(
            combined="one of these holds" if combinator == "or" else "all of these hold",
            rules="\n".join(f"- {_as_text(rule, context, token)}" for rule in rules),
            output=as_text(token.output),
        )
        return await ask_model(context, spec, token, prompt, store=parts.store)

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
