"""`approval`: a person approves or rejects, and the node may name that person; an answer that cannot be read is no
decision, and the run stays paused (seed 002).

Without a deadline it waits without limit. After the deadline it counts as rejected, as approved, as failed, or is
escalated: the owners are notified, and the question is repeated with a new deadline.
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
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import fail_branch, fill, succeed, token_of

APPROVE, REJECT = "approve", "reject"
NOBODY = "nobody"
MINUTE_MS = 60_000
_QUESTION = "Should the workflow continue?"
#: Minutes of the new deadline after an escalation, if the node does not set them.
_ESCALATED = 1_440
_CHANGED = "Another branch has changed the approved text, so the question is asked again."


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token, question = token_of(context), node_state.kept(context, ASKS)
        if context.answer is None or not question:
            return _ask(context, spec, token, until=_deadline(context, spec.data.get("deadlineMinutes")))
        if context.answer.expired:
            return _expired(context, spec, token, question)
        given = decision_of(context.answer)
        if given == APPROVE and question.get("hash") not in {None, digest(_question(context, spec, token))}:
            write(context, [line(spec.id, LogType.WARNING, _CHANGED)])
            return _ask(context, spec, token, until=question["until"], escalated=question["escalated"])
        if given is None:
            write(
                context,
                [
                    line(
                        spec.id,
                        LogType.WARNING,
                        "The answer is neither approve nor reject, so the question is asked again.",
                    )
                ],
            )
            return _ask(context, spec, token, until=question["until"], escalated=question["escalated"])
        who = await parts.store.read(name_of_person, context.answer.by)
        return _decide(context, spec, token, given, _note(context.answer), who=who)

    return visit


def decision_of(answer: Answer) -> str | None:
    """Read the decision with seed 002's words, except that an answer with neither is no decision."""
    value = answer.value if isinstance(answer.value, Mapping) else {"decision": answer.value}
    choice = str(value.get("decision") or "").strip().casefold()
    if choice in {APPROVE, "accept"}:
        return APPROVE
    if choice == REJECT:
        return REJECT
    words = (
        str(value.get("text") or (choice if choice not in {"answer", "feedback", "edit"} else "")).strip().casefold()
    )
    if REJECT in words:
        return REJECT
    return APPROVE if words.startswith(APPROVE) else None


def name_of_person(tx: Transaction, principal_id: str) -> str:
    """Return `platform:user id`, which does not change with the person's display name."""
    person = tx.principals.get(principal_id)
    return f"{person.platform}:{person.user_id}" if person is not None else principal_id


def _ask(context: NodeContext, spec: NodeSpec, token: Token, *, until: int | None, escalated: bool = False) -> Decision:
    prompt = _question(context, spec, token)
    write(context, [line(spec.id, LogType.WAIT_INPUT, prompt)])
    asks = {
        "approvers": list(spec.data.get("approvers") or ()),
        "until": until,
        "escalated": escalated,
        "node": spec.id,
        "hash": digest(prompt),
    }
    changes = node_state.keeping(context, asks, ASKS)
    return Pause(WaitKind.APPROVAL, prompt, until=until, choices=(APPROVE, REJECT), **changes)


def _question(context: NodeContext, spec: NodeSpec, token: Token) -> str:
    """Return the complete text to approve: displays shorten it, and an approval covers all of it."""
    return fill(str(spec.data.get("prompt") or "").strip() or _QUESTION, context, token)


def _expired(context: NodeContext, spec: NodeSpec, token: Token, question: Mapping[str, Any]) -> Decision:
    way = REJECT if question["escalated"] else str(spec.data.get("onExpiry") or REJECT)
    late = "No answer arrived in time."
    if way == "fail":
        return fail_branch(context, spec, token, late, **node_state.ended(context, ASKS))
    if way == "escalate":
        write(
            context,
            [line(spec.id, LogType.ESCALATED, f"{late} The question is asked once more, and the owners are notified.")],
        )
        context.record(_tell, context.execution.id, spec.label, context.now())
        minutes = spec.data.get("escalateMinutes") or _ESCALATED
        return _ask(context, spec, token, until=_deadline(context, minutes), escalated=True)
    return _decide(context, spec, token, APPROVE if way == APPROVE else REJECT, late, who=NOBODY)


def _decide(context: NodeContext, spec: NodeSpec, token: Token, decision: str, note: str, *, who: str) -> Decision:
    output = {"decision": decision, "note": note, "by": who, "at": context.now()}
    choice = f"{decision} by {who}{f': {note}' if note else ''}"
    changes = {f"{spec.id}_approval": output, **node_state.ended(context, ASKS)}
    log = [line(spec.id, LogType.INPUT_RECEIVED, choice)]
    return succeed(context, spec, token, output, handle=decision, log=log, **changes)


def _note(answer: Answer) -> str:
    value = answer.value if isinstance(answer.value, Mapping) else {}
    return str(value.get("note") or "")


def _deadline(context: NodeContext, minutes: Any) -> int | None:
    return context.now() + int(float(minutes) * MINUTE_MS) if minutes else None


def _tell(tx: Transaction, run_id: str, label: str, now: int) -> None:
    text = f"A workflow waits for an answer at “{label}”, and the deadline has passed without one."
    hint = Hint(
        " `arvis questions list` shows the question.", " The Questions page of the dashboard shows the question."
    )
    tell_owner(tx, f"escalated:{run_id}:{label}", text, now, every=0, hint=hint)
