"""`approval`: a person says yes or no, who may be named; what cannot be read is no decision, and the run stays paused (seed 002).

Without a deadline it waits for ever. After one it counts as rejected, as approved, as failed, or is escalated: the owners hear of it, and
it is asked once more, for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.approvals.answers import ASKS
from arvis.approvals.questions import digest
from arvis.domain.executions import Answer, WaitKind
from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node, Pause
from arvis.messaging.owner_alerts import Hint, tell_owner
from arvis.ports.store import Transaction
from arvis.workflows.runtime import node_state
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import Drawn, NodeParts
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import carried_of, fill, give_up, leave

APPROVE, REJECT = "approve", "reject"
NOBODY = "nobody"
MINUTE_MS = 60_000
_QUESTION = "Shall the workflow go on?"
#: For so many minutes more, where the node says nothing else.
_ESCALATED = 1_440
_CHANGED = "What was approved is not what the run would go on with now, because a branch beside it has changed that: it is asked again."


def make(drawn: Drawn, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        carried, asked = carried_of(context), node_state.kept(context, ASKS)
        if context.answer is None or not asked:
            return _ask(context, drawn, carried, until=_deadline(context, drawn.data.get("deadlineMinutes")))
        if context.answer.expired:
            return _expired(context, drawn, carried, asked)
        given = decision_of(context.answer)
        if given == APPROVE and asked.get("hash") not in {None, digest(_question(context, drawn, carried))}:
            write(context, [line(drawn.id, LogType.WARNING, _CHANGED)])
            return _ask(context, drawn, carried, until=asked["until"], escalated=asked["escalated"])
        if given is None:
            write(
                context,
                [line(drawn.id, LogType.WARNING, "The answer is neither approve nor reject: it is asked again.")],
            )
            return _ask(context, drawn, carried, until=asked["until"], escalated=asked["escalated"])
        who = await parts.store.read(name_of_person, context.answer.by)
        return _decide(context, drawn, carried, given, _note(context.answer), who=who)

    return visit


def decision_of(answer: Answer) -> str | None:
    """Seed 002's words, but that what says neither is no decision."""
    value = answer.value if isinstance(answer.value, Mapping) else {"decision": answer.value}
    said = str(value.get("decision") or "").strip().casefold()
    if said in {APPROVE, "accept"}:
        return APPROVE
    if said == REJECT:
        return REJECT
    words = str(value.get("text") or (said if said not in {"answer", "feedback", "edit"} else "")).strip().casefold()
    if REJECT in words:
        return REJECT
    return APPROVE if words.startswith(APPROVE) else None


def name_of_person(tx: Transaction, principal_id: str) -> str:
    """As `platform:user id`, which is the same whatever they call themselves."""
    person = tx.principals.get(principal_id)
    return f"{person.platform}:{person.user_id}" if person is not None else principal_id


def _ask(context: NodeContext, drawn: Drawn, carried: Token, *, until: int | None, escalated: bool = False) -> Decision:
    prompt = _question(context, drawn, carried)
    write(context, [line(drawn.id, LogType.WAIT_INPUT, prompt)])
    asks = {
        "approvers": list(drawn.data.get("approvers") or ()),
        "until": until,
        "escalated": escalated,
        "node": drawn.id,
        "hash": digest(prompt),
    }
    changes = node_state.keeping(context, asks, ASKS)
    return Pause(WaitKind.APPROVAL, prompt, until=until, choices=(APPROVE, REJECT), **changes)


def _question(context: NodeContext, drawn: Drawn, carried: Token) -> str:
    """Return all that is to be approved: displays shorten it, and a yes counts for the whole of it."""
    return fill(str(drawn.data.get("prompt") or "").strip() or _QUESTION, context, carried)


def _expired(context: NodeContext, drawn: Drawn, carried: Token, asked: Mapping[str, Any]) -> Decision:
    way = REJECT if asked["escalated"] else str(drawn.data.get("onExpiry") or REJECT)
    late = "Nobody answered in time."
    if way == "fail":
        return give_up(context, drawn, carried, late, **node_state.ended(context, ASKS))
    if way == "escalate":
        write(context, [line(drawn.id, LogType.ESCALATED, f"{late} It is asked once more, and the owners are told.")])
        context.record(_tell, context.execution.id, drawn.label, context.now())
        minutes = drawn.data.get("escalateMinutes") or _ESCALATED
        return _ask(context, drawn, carried, until=_deadline(context, minutes), escalated=True)
    return _decide(context, drawn, carried, APPROVE if way == APPROVE else REJECT, late, who=NOBODY)


def _decide(context: NodeContext, drawn: Drawn, carried: Token, decision: str, note: str, *, who: str) -> Decision:
    output = {"decision": decision, "note": note, "by": who, "at": context.now()}
    said = f"{decision} by {who}{f': {note}' if note else ''}"
    changes = {f"{drawn.id}_approval": output, **node_state.ended(context, ASKS)}
    log = [line(drawn.id, LogType.INPUT_RECEIVED, said)]
    return leave(context, drawn, carried, output, handle=decision, log=log, **changes)


def _note(answer: Answer) -> str:
    value = answer.value if isinstance(answer.value, Mapping) else {}
    return str(value.get("note") or "")


def _deadline(context: NodeContext, minutes: Any) -> int | None:
    return context.now() + int(float(minutes) * MINUTE_MS) if minutes else None


def _tell(tx: Transaction, run_id: str, label: str, now: int) -> None:
    text = f"A workflow waits for an answer at “{label}”, and the deadline has passed without one."
    hint = Hint(" `arvis waits list` shows the question.", " The page Approvals shows the question.")
    tell_owner(tx, f"escalated:{run_id}:{label}", text, now, every=0, hint=hint)
