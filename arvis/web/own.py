"""What belongs to a credential that sees nothing else: its conversations, its messages, its questions."""

from __future__ import annotations

from arvis.domain.errors import Forbidden, NotFound
from arvis.domain.messages import Address
from arvis.ports.browsing import Person, TalkDetail
from arvis.ports.insights import Insights
from arvis.web.gate import Gate
from arvis.web.identity import PLATFORM, READ, Identity, address_for


async def person_of(gate: Gate, identity: Identity) -> Person | None:
    """Whose things are shown; None for those who may read everything."""
    if identity.role in READ:
        return None
    principal = await gate.known(identity)
    return Person(principal.id if principal is not None else "", identity.user_id)


def is_own_place(identity: Identity, address: Address) -> bool:
    """Whether this credential may write there, and nobody else who is not more than it."""
    if address.platform != PLATFORM or address.connector != PLATFORM:
        return False
    try:
        return address_for(identity, address.channel) == address
    except Forbidden:
        return False


async def visible_talk(insights: Insights, gate: Gate, identity: Identity, conversation_id: str) -> TalkDetail:
    """The conversation, if the asker may see it; for others there is none."""
    found = await insights.talk(conversation_id)
    person = await person_of(gate, identity)
    if found is None or (person is not None and not await _is_own(insights, identity, person, found)):
        raise NotFound("There is no such conversation.", fix="Look it up in the list (GET /api/conversations).")
    return found


async def _is_own(insights: Insights, identity: Identity, person: Person, found: TalkDetail) -> bool:
    """In a place of their own, and with something in it that they said."""
    if not is_own_place(identity, found.talk.address):
        return False
    said = await insights.talk_messages(found.talk.id, own=person, limit=1, cursor=None)
    return bool(said.items)
