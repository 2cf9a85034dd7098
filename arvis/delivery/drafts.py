"""The scripts for drafts of running turns. The row is written first, so that the next process knows of the draft
after a crash."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import Address
from arvis.domain.platforms import Draft, DraftState
from arvis.engine import lifecycle
from arvis.ports.connector import Connector, FindsDrafts, SendError
from arvis.ports.store import Transaction
from arvis.tasks.rounds import Rounds

# Drafts of which it is unknown whether they are in their chat: the process that sent them died before the answer
# arrived.


async def locate(connector: Connector | None, draft: Draft) -> Draft:
    """Return the draft with the id of its message, if it can be found. Raises `SendError` when it may be found later."""
    if draft.state is not DraftState.SENDING or not isinstance(connector, FindsDrafts):
        return draft
    try:
        return replace(draft, platform_id=await connector.find_draft(draft))
    except SendError as error:
        if error.permanent:
            return draft
        raise


@dataclass(frozen=True, slots=True)
class OpenedDraft:
    """A draft to show. `seen` is the id of a message that already shows it, from before a crash."""

    draft: Draft
    seen: str | None


def open_draft(tx: Transaction, execution_id: str, address: Address, now: int) -> OpenedDraft | None:
    """Open a draft; None when the turn is over, or already had its draft."""
    if not _is_live(tx, execution_id):
        return None
    draft = Draft(execution_id, tx.new_id(), address, DraftState.SENDING, None, now)
    if tx.drafts.add(draft):
        return OpenedDraft(draft, None)
    known = tx.drafts.get(execution_id)
    if known is None or known.state is not DraftState.SHOWN or known.platform_id is None:
        return None  # gone, or possibly still shown
    return OpenedDraft(known, known.platform_id)


def may_be_shown(tx: Transaction, address: Address) -> bool:
    """Return whether a draft may be shown: not before an earlier answer has been sent, which would appear below it."""
    return tx.jobs.head_of_lane(address.lane) is None


def of_turn(tx: Transaction, execution_id: str) -> Draft | None:
    return tx.drafts.get(execution_id)


def mark_shown(tx: Transaction, draft: Draft, platform_id: str | None, now: int) -> None:
    tx.drafts.put(draft.execution_id, DraftState.SHOWN, platform_id=platform_id, now=now)


def mark_removed(tx: Transaction, draft: Draft, now: int) -> None:
    tx.drafts.put(draft.execution_id, DraftState.GONE, platform_id=None, now=now)


def is_shown(tx: Transaction, execution_id: str) -> bool:
    draft = tx.drafts.get(execution_id)
    return draft is not None and draft.state is DraftState.SHOWN


def abandoned(tx: Transaction, limit: int) -> list[Draft]:
    """Return drafts that no turn updates and no delivery will replace."""
    return [draft for draft in tx.drafts.open(limit) if _is_abandoned(tx, draft)]


def abandoned_of_turn(tx: Transaction, execution_id: str) -> Draft | None:
    """Return such drafts of one turn."""
    draft = tx.drafts.get(execution_id)
    return draft if draft is not None and draft.state is not DraftState.GONE and _is_abandoned(tx, draft) else None


def _is_abandoned(tx: Transaction, draft: Draft) -> bool:
    return not _is_running(tx, draft.execution_id) and not tx.drafts.awaited(draft.execution_id)


def _is_running(tx: Transaction, execution_id: str) -> bool:
    """Return whether the turn is working; a turn that waits for people shows nothing."""
    execution = tx.executions.get(execution_id)
    return execution is not None and execution.status is ExecutionStatus.RUNNING


def execution_of(tx: Transaction, message_id: str) -> str | None:
    message = tx.messages.get(message_id)
    return message.execution_id if message is not None else None


def current_step(tx: Transaction, execution_id: str) -> str | None:
    """Return the current work of a turn's agent in a few words; None when the turn is over."""
    execution = tx.executions.get(execution_id)
    if execution is None or execution.status not in lifecycle.LIVE:
        return None
    names = _tools_at_work(execution)
    return f"Using {', '.join(names)}" if names else "Thinking"


def _tools_at_work(execution: Execution) -> list[str]:
    rounds = Rounds.from_json(execution.state)
    if not rounds.count or rounds.last.finished:
        return []
    return list(dict.fromkeys(call.name for call in rounds.last.tool_calls()))


def _is_live(tx: Transaction, execution_id: str) -> bool:
    execution = tx.executions.get(execution_id)
    return execution is not None and execution.status in lifecycle.LIVE
