"""The open questions of a conversation: those of its turns, of the children that work for them, and of proposed changes.

Scripts' parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from arvis.domain.conversations import Conversation, conversation_lane
from arvis.domain.executions import Execution, Wait, WaitKind
from arvis.domain.messages import StoredMessage
from arvis.engine import lifecycle
from arvis.messaging.messages import show_question
from arvis.ports.store import Transaction
from arvis.tasks.task import is_run

#: Key of the state of an execution that asks: the questions that were shown a second time.
_REPEATED = "repeated"


def proposals_lane(conversation_id: str) -> str:
    """Return the lane in which the proposed changes of a conversation are found."""
    return f"proposals:{conversation_id}"


def open_questions(tx: Transaction, talk: Conversation) -> list[Wait]:
    """Return what people may answer here by writing, the newest first."""
    found = [*_in_lane(tx, talk.lane), *tx.waits.open_in_lane(proposals_lane(talk.id), WaitKind.APPROVAL)]
    return sorted(found, key=lambda wait: wait.id, reverse=True)


def requester_of(tx: Transaction, wait: Wait) -> str | None:
    """Return the id of the person for whom the question is asked."""
    execution = tx.executions.get(wait.execution_id)
    return lifecycle.root_of(tx, execution).principal_id if execution is not None else None


def repeat_questions(tx: Transaction, turn: Execution, reply: StoredMessage, now: int) -> None:
    """Show the newest open question of the same person again, once, after the reply to another message: a following
    yes would otherwise be about that reply."""
    if not tx.waits.any_open() or turn.lane != conversation_lane(reply.conversation_id or ""):
        return
    talk = tx.conversations.get(reply.conversation_id or "")
    for wait in open_questions(tx, talk) if talk is not None else ():
        asking = tx.executions.get(wait.execution_id)
        if asking is None or wait.kind is WaitKind.USER or lifecycle.root_of(tx, asking).id == turn.id:
            continue
        repeated = asking.state.get(_REPEATED, [])
        if requester_of(tx, wait) == turn.principal_id and wait.id not in repeated:
            show_question(tx, asking, wait, like=reply, now=now, again=True)
            tx.executions.save(replace(asking, state={**asking.state, _REPEATED: [*repeated, wait.id]}))
        return


def _in_lane(tx: Transaction, lane: str) -> Iterator[Wait]:
    """Yield approvals and reviews, also of the children that work in this lane, and questions of runs to a person."""
    yield from tx.waits.open_in_lane(lane, WaitKind.APPROVAL, WaitKind.REVIEW)
    yield from (wait for wait in tx.waits.open_in_lane(lane, WaitKind.USER) if _is_of_run(tx, wait))
    for wait in tx.waits.open_in_lane(lane, WaitKind.CHILD):
        for child in tx.executions.children_of(wait.execution_id):
            if child.parent_wait == wait.id:
                yield from _in_lane(tx, child.lane)


def _is_of_run(tx: Transaction, wait: Wait) -> bool:
    """Return True for a question of a run: a turn continues with the message itself, and a run has no messages."""
    execution = tx.executions.get(wait.execution_id)
    return execution is not None and is_run(execution)
