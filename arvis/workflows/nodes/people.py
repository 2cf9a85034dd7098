"""The nodes that address people.

- `approval`: a person approves or rejects; the node may name the people who may answer. After any other answer, the
  question is asked again. Without a deadline the node waits without limit. After the deadline the question counts as
  rejected or approved, the node fails, or the question is escalated: the owners are notified, and the question is
  repeated with a new deadline.
- `user-input`: the output is the person's next message in the chat of the run, or an answer by any other person who may
  answer.
- `response` immediately posts a message where the run was requested. If the node is the last of the run, its text is
  the run's reply, and the end of the run posts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.approvals import ASKS, digest
from arvis.domain.executions import Answer, Execution, ExecutionStatus, WaitKind
from arvis.domain.notifications import Hint, Problem, Severity
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.workflows import SAID, LogType, as_text
from arvis.engine import lifecycle
from arvis.engine.graph import Decision, Node, NodeContext, Pause
from arvis.messaging import messages
from arvis.messaging.messages import post, unsilenced
from arvis.messaging.owner_alerts import alert_owner
from arvis.ports.store import Transaction
from arvis.tasks.state import WorkState
from arvis.tasks.task import is_run, source_of
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import FINISH, NodeParts, NodeSpec
from arvis.workflows.runtime.replies import error_in
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import (
    ask_model,
    drop_state,
    fail_branch,
    keep_state,
    kept_state,
    model_reply,
    succeed,
    taint_of,
    texts_of,
    token_of,
)

# -- approval ----------------------------------------------------------------------------------------------------------


APPROVE, REJECT = "approve", "reject"
NOBODY = "nobody"
MINUTE_MS = 60_000
_APPROVAL_QUESTION = "Should the workflow continue?"
#: Minutes of the new deadline after an escalation, if the node does not set them.
_ESCALATED = 1_440
_UNREADABLE = "The answer is neither approve nor reject, so the question is asked again."
_CHANGED = "Another branch has changed the approved text, so the question is asked again."


def make_approval(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token, question = token_of(context), kept_state(context, ASKS)
        if context.answer is None or not question:
            return _ask(context, spec, token, until=_deadline(context, spec.data.get("deadlineMinutes")))
        if context.answer.expired:
            return _expired(context, spec, token, question)
        given = decision_of(context.answer)
        if given == APPROVE and question.get("hash") not in {None, digest(_question(context, spec, token))}:
            write(context, [line(spec.id, LogType.WARNING, _CHANGED)])
            return _ask(context, spec, token, until=question["until"], escalated=question["escalated"])
        if given is None:
            write(context, [line(spec.id, LogType.WARNING, _UNREADABLE)])
            return _ask(context, spec, token, until=question["until"], escalated=question["escalated"])
        who = await parts.store.read(name_of_person, context.answer.by)
        value = context.answer.value if isinstance(context.answer.value, Mapping) else {}
        return _decide(context, spec, token, given, str(value.get("note") or ""), who=who)

    return visit


def decision_of(answer: Answer) -> str | None:
    """Return the decision of an answer: a button's choice, or a text that contains `reject` or begins with `approve`.
    Return None for any other answer."""
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
    """Return `platform:user id`, because the display name of a person may change."""
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
    changes = keep_state(context, asks, ASKS)
    return Pause(WaitKind.APPROVAL, prompt, until=until, choices=(APPROVE, REJECT), **changes)


def _question(context: NodeContext, spec: NodeSpec, token: Token) -> str:
    """Return the complete question. Displays may shorten it, but an approval is for the complete text."""
    return texts_of(spec, context, token).shown(str(spec.data.get("prompt") or "").strip() or _APPROVAL_QUESTION)


def _expired(context: NodeContext, spec: NodeSpec, token: Token, question: Mapping[str, Any]) -> Decision:
    way = REJECT if question["escalated"] else str(spec.data.get("onExpiry") or REJECT)
    late = "No answer arrived in time."
    if way == "fail":
        return fail_branch(context, spec, token, late, **drop_state(context, ASKS))
    if way == "escalate":
        write(
            context,
            [line(spec.id, "escalated", f"{late} The question is asked once more, and the owners are notified.")],
        )
        context.record(_tell, context.execution.id, spec.label, context.now())
        minutes = spec.data.get("escalateMinutes") or _ESCALATED
        return _ask(context, spec, token, until=_deadline(context, minutes), escalated=True)
    return _decide(context, spec, token, APPROVE if way == APPROVE else REJECT, late, who=NOBODY)


def _decide(context: NodeContext, spec: NodeSpec, token: Token, decision: str, note: str, *, who: str) -> Decision:
    output = {"decision": decision, "note": note, "by": who, "at": context.now()}
    choice = f"{decision} by {who}{f': {note}' if note else ''}"
    changes = {f"{spec.id}_approval": output, **drop_state(context, ASKS)}
    log = [line(spec.id, LogType.INPUT_RECEIVED, choice)]
    return succeed(context, spec, token, output, handle=decision, log=log, **changes)


def _deadline(context: NodeContext, minutes: Any) -> int | None:
    return context.now() + int(float(minutes) * MINUTE_MS) if minutes else None


def _tell(tx: Transaction, run_id: str, label: str, now: int) -> None:
    text = f"A workflow waits for an answer at “{label}”, and the deadline has passed without one."
    hint = Hint(
        " `arvis questions list` shows the question.",
        " The Questions page of the dashboard shows the question.",
        "/questions",
    )
    problem = Problem(
        cause=f"escalated:{run_id}:{label}",
        text=text,
        severity=Severity.WARNING,
        hint=hint,
        subject=run_id,
        interval=0,
    )
    alert_owner(tx, problem, now)


# -- user-input --------------------------------------------------------------------------------------------------------


_INPUT_QUESTION = "Please write your answer."


def make_user_input(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        if context.answer is None:
            prompt = str(spec.data.get("prompt") or "").strip() or _INPUT_QUESTION
            prompt = texts_of(spec, context, token).shown(prompt)
            write(context, [line(spec.id, LogType.WAIT_INPUT, prompt)])
            minutes = spec.data.get("deadlineMinutes")
            until = context.now() + int(float(minutes) * MINUTE_MS) if minutes else None
            return Pause(WaitKind.USER, prompt, until=until)
        if context.answer.expired:
            return fail_branch(context, spec, token, "No answer arrived in time.")
        value = context.answer.value if isinstance(context.answer.value, Mapping) else {}
        text = str(value.get("text") or value.get("note") or "")
        who = await parts.store.read(name_of_person, context.answer.by)
        # The answer of another person is untrusted, so it is not used with the rights of the run's person.
        taint = CLEAN if context.answer.by == context.execution.principal_id else frozenset({Label.PEOPLE})
        log = [line(spec.id, LogType.INPUT_RECEIVED, f"{who}: {text}")]
        return succeed(context, spec, token, text, log=log, taint=taint)

    return visit


# -- response ----------------------------------------------------------------------------------------------------------


_PHRASE_PROMPT = (
    "Word the following as a message to the person who asked. Answer with that message and nothing else.\n\n{text}"
)


def make_response(spec: NodeSpec, parts: NodeParts) -> Node:
    async def visit(context: NodeContext) -> Decision:
        token = token_of(context)
        texts, template = texts_of(spec, context, token), str(spec.data.get("template") or "")
        if not spec.data.get("compose"):
            text = texts.shown(template, note=True)
            return _say(context, spec, token, text if text.strip() else texts.shown_output())
        text = texts.filled(template)
        text = text if text.strip() else as_text(token.output)
        if context.answer is None:
            return await ask_model(context, spec, _PHRASE_PROMPT.format(text=text), store=parts.store)
        reply = await model_reply(context, store=parts.store)
        if wrong := reply.error or error_in(reply.text, ""):
            return fail_branch(context, spec, token, wrong, kind=LogType.LLM_ERROR)
        return _say(context, spec, token, reply.text, reply.taint)

    return visit


def _say(context: NodeContext, spec: NodeSpec, token: Token, text: str, taint: Taint = CLEAN) -> Decision:
    log = [line(spec.id, LogType.LLM_RESPONSE, text)] if spec.data.get("compose") else []
    if text.strip():
        read = taint_of(context.state) | taint
        context.record(_speak, context.execution.id, spec.id, text, taint=read, now=context.now())
        context.commit_first()
    return succeed(context, spec, token, text, log=log, taint=taint, **dict[str, Any]({SAID + spec.id: text}))


def _speak(tx: Transaction, execution_id: str, node_id: str, text: str, *, taint: Taint, now: int) -> None:
    """Post the text in the turn that the run answers, or in the channel of a run without a turn. Post nothing if this
    step ends the run, because the end of the run posts the text."""
    execution = tx.executions.get(execution_id)
    if execution is None:
        return
    root = lifecycle.root_of(tx, execution)
    if root.id == execution.id and _is_left_to_the_end(tx, execution, node_id):
        return
    if tx.messages.of_turn(root.id):
        messages.post_progress(tx, execution, text, now, taint=taint)
        return
    agent = tx.agents.get(WorkState.from_json(execution.state).agent)
    if is_run(root) and agent is not None and unsilenced(text):
        post(
            tx,
            agent=agent,
            address=WorkState.from_json(root.state).address,
            text=text,
            source=source_of(root),
            taint=taint,
            priority=execution.priority,
            now=now,
        )


def _is_left_to_the_end(tx: Transaction, execution: Execution, node_id: str) -> bool:
    """Return whether the run ends with this node's output, which the end of the run then posts."""
    if execution.status is ExecutionStatus.DONE:
        return bool((execution.result or {}).get("last") == node_id)
    ends = [cursor for cursor in tx.executions.cursors(execution.id) if cursor.node == FINISH]
    return any(Token.from_json(cursor.value).source == node_id for cursor in ends)
