"""`condition`: true or false, by the data where it has the fields, else by an agent; only true and yes pass (behaviour.md 2.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.workflows import LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.conditions import decide, says_yes
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import ask_model, carried_of, fill, give_up, is_tainted, leave, said_by

_TASK = """\
Judge whether {combined} of what is shown below. Answer with true or false and nothing else.
{rules}

Judge this:
{output}"""
_UNCLEAR = "The agent answered neither true nor false, which counts as false."


def make(drawn: Drawn, parts: NodeParts) -> Node:
    rules: Sequence[Mapping[str, Any]] = drawn.data.get("rules") or ()
    combinator = str(drawn.data.get("combinator") or "and")

    async def judge(context: NodeContext) -> Decision:
        carried = carried_of(context)
        if context.answer is not None:
            return await _answered(context, drawn, parts, carried)
        holds = decide(rules, combinator, carried.output, lambda text: fill(text, context, carried))
        if holds is not None:
            lines = [line(drawn.id, LogType.LOGIC_CHECK, f"By the data: {_word(holds)}")]
            return leave(
                context,
                drawn,
                carried,
                carried.output,
                handle=_handle(holds),
                log=lines,
                tainted=is_tainted(context),
            )
        prompt = _TASK.format(
            combined="one of these holds" if combinator == "or" else "all of these hold",
            rules="\n".join(f"- {_told(rule, context, carried)}" for rule in rules),
            output=as_text(carried.output),
        )
        return await ask_model(context, drawn, carried, prompt, store=parts.store)

    return judge


async def _answered(context: NodeContext, drawn: Drawn, parts: NodeParts, carried: Token) -> Decision:
    said = await said_by(context, store=parts.store)
    if said.error:
        return give_up(context, drawn, carried, said.error, kind=LogType.LLM_ERROR, taint=said.taint)
    judged = says_yes(said.text)
    holds = judged is True
    lines = [
        line(drawn.id, LogType.LLM_RESPONSE, said.text),
        *([line(drawn.id, LogType.WARNING, _UNCLEAR)] if judged is None else []),
        line(drawn.id, LogType.LOGIC_CHECK, f"By the agent's judgement: {_word(holds)}"),
    ]
    return leave(
        context,
        drawn,
        carried,
        carried.output,
        handle=_handle(holds),
        log=lines,
        tainted=is_tainted(context),
        taint=said.taint,
    )


def _told(rule: Mapping[str, Any], context: NodeContext, carried: Token) -> str:
    operator = str(rule.get("operator") or "equals").replace("_", " ")
    value = fill(str(rule.get("value") or ""), context, carried)
    field = fill(str(rule.get("field") or ""), context, carried)
    return " ".join(filter(None, [field or "the whole", operator, value]))


def _handle(holds: bool) -> str:
    return f"condition-{_word(holds)}"


def _word(holds: bool) -> str:
    return "true" if holds else "false"
