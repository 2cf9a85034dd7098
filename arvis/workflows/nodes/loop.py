"""`loop`: sends what comes through its body, from `loop-start` to the way back, so many rounds or until its condition holds; then
out by `loop-exit` (behaviour.md 2.7). The condition is looked at after each round."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from arvis.domain.workflows import LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.document.view import Drawing
from arvis.workflows.runtime.conditions import says_stop, says_yes
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import Said, ask_model, carried_of, fill, give_up, is_tainted, leave, said_by

#: The nodes that a round can come to.
Body = Collection[str]

_BODY, _EXIT = "loop-start", "loop-exit"
_ROUNDS = 10
_TASK = """\
Judge whether this holds for what is shown below. Answer with true or false and nothing else.
{condition}

Judge this:
{output}"""
_UNCLEAR = "The agent answered neither true nor false, which counts as false: the loop goes on."


def make(drawn: Drawn, parts: NodeParts) -> Node:
    body: Body = Drawing(drawn.document).bodies.get(drawn.id, set())
    most = int(drawn.data.get("maxIterations") or _ROUNDS)
    condition = str(drawn.data.get("condition") or "").strip()
    by_model = drawn.data.get("conditionMode") == "llm"

    async def turn(context: NodeContext) -> Decision:
        carried = carried_of(context)
        done = carried.rounds.get(drawn.id, 0)
        if context.answer is not None:
            return _judged(context, drawn, carried, body, await said_by(context, store=parts.store))
        if done == 0:
            return _round(context, drawn, carried, body)
        if done >= most:
            return _out(context, drawn, carried, f"after {done} rounds, which are the most")
        if condition and by_model:
            prompt = _TASK.format(condition=fill(condition, context, carried), output=as_text(carried.output))
            return await ask_model(context, drawn, carried, prompt, store=parts.store)
        if condition and says_stop(fill(condition, context, carried)):
            return _out(context, drawn, carried, f"after {done} rounds: its condition holds")
        return _round(context, drawn, carried, body)

    return turn


def _judged(context: NodeContext, drawn: Drawn, carried: Token, body: Body, said: Said) -> Decision:
    if said.error:
        return give_up(context, drawn, carried, said.error, kind=LogType.LLM_ERROR, taint=said.taint)
    if says_yes(said.text):
        done = carried.rounds.get(drawn.id, 0)
        return _out(context, drawn, carried, f"after {done} rounds: the agent says that its condition holds", said)
    return _round(context, drawn, carried, body, said)


def _round(context: NodeContext, drawn: Drawn, carried: Token, body: Body, said: Said | None = None) -> Decision:
    """What rounds bound is counted by them: in each the nodes of the body begin without visits, and the loop itself is visited once
    however many it has."""
    number = carried.rounds.get(drawn.id, 0) + 1
    visits = {node: count for node, count in carried.visits.items() if node not in body}
    visits[drawn.id] = visits.get(drawn.id, 0) - 1
    inside = replace(carried, rounds={**carried.rounds, drawn.id: number}, visits=visits)
    return _go(context, drawn, inside, handle=_BODY, text=f"round {number}", said=said)


def _out(context: NodeContext, drawn: Drawn, carried: Token, why: str, said: Said | None = None) -> Decision:
    """Who comes again from outside begins with the first round."""
    rounds = {loop: number for loop, number in carried.rounds.items() if loop != drawn.id}
    return _go(context, drawn, replace(carried, rounds=rounds), handle=_EXIT, text=f"ends {why}", said=said)


def _go(context: NodeContext, drawn: Drawn, carried: Token, *, handle: str, text: str, said: Said | None) -> Decision:
    told = [line(drawn.id, LogType.LLM_RESPONSE, said.text)] if said else []
    if said and says_yes(said.text) is None:
        told.append(line(drawn.id, LogType.WARNING, _UNCLEAR))
    lines = [*told, line(drawn.id, LogType.LOOP, text)]
    taint = said.taint if said else frozenset()
    return leave(
        context, drawn, carried, carried.output, handle=handle, log=lines, tainted=is_tainted(context), taint=taint
    )
