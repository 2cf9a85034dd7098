"""The nodes that control the path of a run.

- `start` and triggers begin a run. Their output is the run's input, or the node's text if the run has no input.
- `parallel` passes its input to all following nodes at once.
- `merge` joins the branches of a `parallel`. It reports failures of branches, and its output is the list of the
  branches' outputs. It fails if too few branches succeeded.
- `loop` sends its input through its body, from `loop-start` to the connection back, for a number of rounds or until its
  condition holds after a round; then it continues at `loop-exit`. An agent can judge the condition.
- `wait` continues later with its input. The due time is in the database, and no process sleeps.
- A node of an unknown kind writes a warning and has no output.
"""

from __future__ import annotations

from collections.abc import Collection

from arvis.domain.dataclass import replace
from arvis.domain.executions import WaitKind
from arvis.domain.workflows import STATE, LogType, as_text
from arvis.engine.graph import Decision, Node, NodeContext, Pause
from arvis.workflows.document.view import Drawing
from arvis.workflows.runtime import log
from arvis.workflows.runtime.conditions import says_stop, says_yes
from arvis.workflows.runtime.joins import opened
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

# -- start -------------------------------------------------------------------------------------------------------------


def make_start(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def begin(context: NodeContext) -> Decision:
        given = context.state[STATE].get("input")
        output = spec.data.get("initialInput") or "" if given in (None, "") else given
        lines = [line(spec.id, LogType.START_PROMPT, as_text(output))]
        return succeed(context, spec, token_of(context), output, log=lines)

    return begin


#: A run begins at a trigger in the same way as at a start node. The input of such a run is the event.
make_trigger = make_start


# -- parallel and merge ------------------------------------------------------------------------------------------------


def make_parallel(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def spread(context: NodeContext) -> Decision:
        token = token_of(context)
        inside = replace(token, regions=opened(token.regions, spec.id, context.visit))
        return succeed(context, spec, inside, token.output)

    return spread


def make_merge(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def merge(context: NodeContext) -> Decision:
        token = token_of(context)
        if token.failed is not None:
            error = f"too few of the merged branches succeeded: {token.failed}"
            return fail_branch(context, spec, replace(token, failed=None), error)
        errors = [error for _, error in token.joined if error]
        text = f"{len(errors)} of {len(token.joined)} branches failed: {'; '.join(errors)}"
        lines = [line(spec.id, LogType.WARNING, text)] if errors else []
        return succeed(context, spec, token, token.output, log=lines)

    return merge


# -- loop --------------------------------------------------------------------------------------------------------------


#: The ids of the nodes that a round of a loop can reach.
Body = Collection[str]

_BODY, _EXIT = "loop-start", "loop-exit"
_ROUNDS = 10
_TASK = """\
Judge whether this holds for what is shown below. Answer with true or false and nothing else.
{condition}

Judge this:
{output}"""
_UNCLEAR = "The agent answered neither true nor false, which counts as false: the loop continues."


def make_loop(spec: NodeSpec, parts: NodeParts) -> Node:
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
            return _out(context, spec, token, f"after {done} repetitions, the maximum")
        if condition and by_model:
            prompt = _TASK.format(condition=fill(condition, context, token), output=as_text(token.output))
            return await ask_model(context, spec, prompt, store=parts.store)
        if condition and says_stop(fill(condition, context, token)):
            return _out(context, spec, token, f"after {done} repetitions: the condition holds")
        return _round(context, spec, token, body)

    return turn


def _judged(context: NodeContext, spec: NodeSpec, token: Token, body: Body, reply: ModelReply) -> Decision:
    if reply.error:
        return fail_branch(context, spec, token, reply.error, kind=LogType.LLM_ERROR, taint=reply.taint)
    if says_yes(reply.text):
        done = token.rounds.get(spec.id, 0)
        return _out(context, spec, token, f"after {done} repetitions: the agent says that the condition holds", reply)
    return _round(context, spec, token, body, reply)


def _round(context: NodeContext, spec: NodeSpec, token: Token, body: Body, reply: ModelReply | None = None) -> Decision:
    """Begin a round. Visits are counted for each round: the counts of the body's nodes begin at 0 again, and the loop
    itself counts as visited once, regardless of the number of rounds."""
    number = token.rounds.get(spec.id, 0) + 1
    visits = {node: count for node, count in token.visits.items() if node not in body}
    visits[spec.id] = visits.get(spec.id, 0) - 1
    inside = replace(token, rounds={**token.rounds, spec.id: number}, visits=visits)
    return _go(context, spec, inside, handle=_BODY, text=f"repetition {number}", reply=reply)


def _out(context: NodeContext, spec: NodeSpec, token: Token, why: str, reply: ModelReply | None = None) -> Decision:
    """Leave the loop. If the token enters the loop again later, it begins with the first round."""
    rounds = {loop: number for loop, number in token.rounds.items() if loop != spec.id}
    return _go(context, spec, replace(token, rounds=rounds), handle=_EXIT, text=f"ends {why}", reply=reply)


def _go(
    context: NodeContext, spec: NodeSpec, token: Token, *, handle: str, text: str, reply: ModelReply | None
) -> Decision:
    lines = [line(spec.id, LogType.LLM_RESPONSE, reply.text)] if reply else []
    if reply and says_yes(reply.text) is None:
        lines.append(line(spec.id, LogType.WARNING, _UNCLEAR))
    lines.append(line(spec.id, "loop", text))
    taint = reply.taint if reply else frozenset()
    return succeed(
        context, spec, token, token.output, handle=handle, log=lines, tainted=is_tainted(context), taint=taint
    )


# -- wait --------------------------------------------------------------------------------------------------------------


_MS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


def make_wait(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts
    unit = str(spec.data.get("unit") or "seconds")
    amount = spec.data.get("amount") or 0

    async def wait(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is not None or not amount:
            return succeed(context, spec, token, token.output)
        text = f"waits for {amount} {unit}"
        log.write(context, [line(spec.id, "timer", text)])
        return Pause(WaitKind.TIMER, f"{spec.label} {text}", until=context.now() + int(amount * _MS[unit]))

    return wait


# -- unknown kinds -----------------------------------------------------------------------------------------------------


def make_unknown(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def skip(context: NodeContext) -> Decision:
        lines = [line(spec.id, LogType.WARNING, f"The node's kind “{spec.kind.name}” is unknown, so it is skipped.")]
        return succeed(context, spec, token_of(context), None, log=lines)

    return skip
