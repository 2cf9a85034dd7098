"""What the owners are told without having asked: that something went wrong which only they can mend.

It goes where an owner last talked alone with an agent; once a day about the same thing. Scripts' parts.
"""

from __future__ import annotations

from arvis.agents.saying import notice
from arvis.domain.jobs import Priority
from arvis.domain.messages import Principal, PrincipalRole, StoredMessage
from arvis.ports.store import Transaction

DAY_MS = 86_400_000
#: The newest conversation of an owner alone with an agent, by a message of it.
_PLACE = "owner_place"


def note_place(tx: Transaction, message: StoredMessage, principal: Principal, *, direct: bool, now: int) -> None:
    """Remember where an owner can be reached; written only when that is another place than before."""
    if principal.role is not PrincipalRole.OWNER or not direct:
        return
    known = tx.messages.get(tx.settings.get(_PLACE) or "")
    if known is None or known.conversation_id != message.conversation_id:
        tx.settings.put(_PLACE, message.id, now)


def tell_owner(tx: Transaction, about: str, text: str, now: int) -> bool:
    """`about` names the thing, as in `compaction:CONVERSATION`. False when there is nobody to tell, or it was told
    within a day."""
    place, key = tx.messages.get(tx.settings.get(_PLACE) or ""), f"told:{about}"
    told = tx.settings.get(key)
    if place is None or (told is not None and now - int(told) < DAY_MS):
        return False
    tx.settings.put(key, str(now), now)
    notice(tx, like=place, text=text, priority=Priority.BACKGROUND, now=now)
    return True
