"""Ending a conversation at the word of somebody who looks after the house, as `/new` does. A script."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.agents.cancelling import CancelledTurn
from arvis.agents.stopping import stop_waiting
from arvis.domain.errors import Conflict, NotFound
from arvis.ports.store import Transaction


def close(tx: Transaction, conversation_id: str, by: str, now: int) -> Sequence[CancelledTurn]:
    """The conversation is kept, and the next message there begins a new one; what waits in it for people is put aside, what
    is under way still ends there. Raises `NotFound`, and `Conflict` when it is closed."""
    conversation = tx.conversations.get(conversation_id)
    if conversation is None:
        raise NotFound(f"There is no conversation {conversation_id}")
    if conversation_id not in {each.id for each in tx.conversations.in_place(conversation.address)}:
        raise Conflict("This conversation is closed already")
    stopped = stop_waiting(tx, conversation, by, now)
    tx.conversations.close(conversation_id, now)
    return stopped
