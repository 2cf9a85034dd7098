"""`/new` and `/reset`: begin a new conversation. The old one is closed and kept, and what waits for people in it is put
aside; `/reset` also takes away what plugins keep of it, and its folder."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.commands.invocation import Invocation, Said
from arvis.domain.messages import PrincipalRole
from arvis.graphs.reset import begin_reset
from arvis.ports.store import Transaction
from arvis.turns.cancellation import CancelledTurn, stop_waiting

_FRESH = "Your next message starts a new conversation. My memory stays (see /memory)."
_EMPTY = "Your next message starts a new conversation with an empty folder. My memory stays (see /memory)."
_OTHERS = (
    "Other people's files lie here, too: an operator or an owner can reset this place. /new begins a new conversation."
)


def new(tx: Transaction, invocation: Invocation, now: int) -> Said:
    stopped = _close(tx, invocation, now)
    return Said(f"{_FRESH}{_put_aside(stopped)}", stopped)


def reset(tx: Transaction, invocation: Invocation, now: int) -> Said:
    """Reset the conversation. Where several people write, only an owner or operator may do it, because the history
    does not come back."""
    if not (invocation.conversation.direct or _looks_after(invocation)):
        return Said(_OTHERS)
    stopped = _close(tx, invocation, now)
    begin_reset(tx, invocation.conversation, invocation.principal.id, now)
    return Said(f"{_EMPTY}{_put_aside(stopped)}", stopped)


def _close(tx: Transaction, invocation: Invocation, now: int) -> Sequence[CancelledTurn]:
    """Close the conversation. Running work still ends there. Members cancel their own questions, others all of them."""
    person, conversation = invocation.principal, invocation.conversation
    everything = conversation.direct or _looks_after(invocation)
    stopped = stop_waiting(tx, conversation, person.name, now, asked_by=None if everything else person.id)
    tx.conversations.close(conversation.id, now)
    return stopped


def _looks_after(invocation: Invocation) -> bool:
    return invocation.principal.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}


def _put_aside(stopped: Sequence[CancelledTurn]) -> str:
    if not stopped:
        return ""
    return " What waited for an answer was put aside."
