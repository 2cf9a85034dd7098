"""`loop`: sends its input through its body, from `loop-start` to the connection back, for a number of rounds or until
its condition holds; then it continues at `loop-exit` (behaviour.md 2.7). The condition is evaluated after each round."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from arvis.domain.workflows import LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.document.view import Drawing
from arvis.workflows.runtime.conditions import says_stop, says_yes
from arvis.workflows.runtime.log import line
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

#: The nodes that a round can reach.
Body = Collection[str]

_BODY, _EXIT = "loop-start", "loop-exit"
_ROUNDS = 10
_TASK = """\
Judge whether this holds for what is shown below. Answer with true or false and nothing else.
{condition}

Judge this:
{output}"""
_UNCLEAR = "The agent answered neither true nor false, which counts as false: the loop continues."


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    body: Body = Drawing(spec.document).bodies.get(spec.id, set())
    most = int(spec.data.get("maxIterations") or _ROUNDS)
    condition = str(spec.data.get("condition") or "").strip()
    by_model = spec.data.get("conditionMode") == "llm"

    async def turn(context: NodeContext) -> Decision:
        token = token_of(context)
        done = token.rounds.get(spec.id, 0)
        if context.answer is not None:
            return _judged(context, spec, token, body, await model_reply(context, store=parts.store))
        if done == 0:
            return _round(context, spec, token, body)
        if done >= most:
            return _out(context, spec, token, f"after {done} rounds, the maximum")
        if condition and by_model:
            prompt = _TASK.format(condition=fill(condition, context, token), output=as_text(token.output))
            return await ask_model(context, spec, token, prompt, store=parts.store)
        if condition and says_stop(fill(condition, context, token)):
            return _out(context, spec, token, f"after {done} rounds: the condition holds")
        return _round(context, spec, token, body)

    return turn


def _judged(context: NodeContext, spec: NodeSpec, token: Token, body: Body, reply: ModelReply) -> Decision:
    if reply.error:
        return fail_branch(context, spec, token, reply.error, kind=LogType.LLM_ERROR, taint=reply.taint)
    if says_yes(reply.text):
        done = token.rounds.get(spec.id, 0)
        return _out(context, spec, token, f"after {done} rounds: the agent says that the condition holds", reply)
    return _round(context, spec, token, body, reply)


def _round(context: NodeContext, spec: NodeSpec, token: Token, body: Body, reply: ModelReply | None = None) -> Decision:
    """Begin a round. Visits are counted per round: in each, the nodes of the body begin without visits, and the loop
    itself counts as visited once, regardless of its rounds."""
    number = token.rounds.get(spec.id, 0) + 1
    visits = {node: count for node, count in token.visits.items() if node not in body}
    visits[spec.id] = visits.get(spec.id, 0) - 1
    inside = replace(token, rounds={**token.rounds, spec.id: number}, visits=visits)
    return _go(context, spec, inside, handle=_BODY, text=f"round {number}", reply=reply)


def _out(context: NodeContext, spec: NodeSpec, token: Token, why: str, reply: ModelReply | None = None) -> Decision:
    """Leave the loop. A token that comes again from outside begins with the first round."""
    rounds = {loop: number for loop, number in token.rounds.items() if loop != spec.id}
    return _go(context, spec, replace(token, rounds=rounds), handle=_EXIT, text=f"ends {why}", reply=reply)


def _go(
    context: NodeContext, spec: NodeSpec, token: Token, *, handle: str, text: str, reply: ModelReply | None
) -> Decision:
    told = [line(spec.id, LogType.LLM_RESPONSE, reply.text)] if reply else []
    if reply and says_yes(reply.text) is None:
        told.append(line(spec.id, LogType.WARNING, _UNCLEAR))
    lines = [*told, line(spec.id, LogType.LOOP, text)]
    taint = reply.taint if reply else frozenset()
    return succeed(
        context, spec, token, token.output, handle=handle, log=lines, tainted=is_tainted(context), taint=taint
    )
