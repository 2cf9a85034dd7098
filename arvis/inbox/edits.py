"""Edits and deletions of messages by the people who wrote them. Scripts.

Before its turn begins a message takes its new text; afterwards only the timeline notes the change. People cannot
change messages of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.executions import ExecutionStatus
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import FINAL_STATUSES, Address, MessageStatus, PrincipalRole, StoredMessage
from arvis.domain.platforms import MessageDeletion, MessageEdit
from arvis.inbox.accept import LONGEST_OBSERVED
from arvis.inbox.source import EventSource
from arvis.llm.tokens import estimate_tokens
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Transaction
from arvis.turns import cancellation
from arvis.turns.cancellation import CancelledTurn

#: Characters of a later text in the timeline.
_LONGEST_NOTE = 2_000


def edit_message(tx: Transaction, source: EventSource, change: MessageEdit, now: int) -> None:
    source.advance(tx)
    if _seen(tx, change.address, change.event_id):
        return
    known = _known(tx, change.address, change.ref)
    if known is None:
        tx.overheard.edit(change.address, change.ref, change.content[:LONGEST_OBSERVED])
    elif _wrote(tx, change, known):
        _change_text(tx, known, change.content, now)
    _keep(tx, change.address, change.event_id, known, now)


def delete_message(tx: Transaction, source: EventSource, deletion: MessageDeletion, now: int) -> CancelledTurn | None:
    """Withdraw a message whose turn has not begun. Return the turn that this ended."""
    source.advance(tx)
    if _seen(tx, deletion.address, deletion.event_id):
        return None
    known = _known(tx, deletion.address, deletion.ref)
    cancelled = None
    if known is None:
        tx.overheard.edit(deletion.address, deletion.ref, None)
    elif _not_begun(tx, known):
        cancelled = cancellation.withdraw_turn(tx, known.execution_id or "", now)
    else:
        _note(tx, known, "deleted", {}, now)
    _keep(tx, deletion.address, deletion.event_id, known, now)
    return cancelled


def _known(tx: Transaction, address: Address, ref: str) -> StoredMessage | None:
    """Return the stored message; None for a rejected one, whose edits are not stored."""
    found = tx.incoming.by_ref(address, ref)
    return None if found is None or found.status is MessageStatus.DROPPED else found


def _change_text(tx: Transaction, message: StoredMessage, content: str, now: int) -> None:
    if content == message.content:
        return
    if content.strip() and _not_begun(tx, message):
        tx.incoming.replace_text(message.id, content, estimate_tokens(content))
        _note(tx, message, "edited", {"before": message.content[:_LONGEST_NOTE]}, now)
    else:
        _note(tx, message, "edited", {"now": content[:_LONGEST_NOTE]}, now)


def _wrote(tx: Transaction, change: MessageEdit, message: StoredMessage) -> bool:
    """Return True if the person who changed the message wrote it, and is not blocked."""
    principal = tx.principals.get(message.principal_id or "")
    if principal is None or principal.role is PrincipalRole.BLOCKED:
        return False
    return principal.user_id == change.sender.user_id


def _not_begun(tx: Transaction, message: StoredMessage) -> bool:
    """Return True if the turn of this message has not begun, read under the lock of its job."""
    if message.execution_id is None or message.status in FINAL_STATUSES:
        return False
    waiting = tx.jobs.live_of_execution(message.execution_id)
    execution = tx.executions.get(message.execution_id)
    unmoved = execution is not None and execution.steps == 0 and execution.status is ExecutionStatus.RUNNING
    return unmoved and len(waiting) == 1 and waiting[0].status is JobStatus.PENDING and waiting[0].claim == 0


def _note(tx: Transaction, message: StoredMessage, step: str, data: Mapping[str, Any], now: int) -> None:
    tx.timeline.note([message.id], step, data, now)


def _seen(tx: Transaction, address: Address, event_id: str) -> bool:
    return tx.events.seen(address.platform, address.connector, event_id) is not None


def _keep(tx: Transaction, address: Address, event_id: str, message: StoredMessage | None, now: int) -> None:
    """Store the event if it is about a stored message: unknown senders must not fill the table."""
    if message is not None:
        tx.events.keep(address.platform, address.connector, event_id, SeenEvent(message.id, ""), now)
