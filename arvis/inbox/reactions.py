"""Reactions to messages of the bot: 👍 and 👎 are stored as feedback on the answer, and the next prompt of the conversation reports all
reactions.

A reaction counts only if the person may ask the agent that wrote the message. Reactions of unknown people, and to other messages, leave no
row, so that unknown people cannot fill the tables.
"""

from __future__ import annotations

from arvis.domain.dataclass import replace
from arvis.domain.messages import Principal, PrincipalRole, Role, StoredMessage
from arvis.domain.reactions import ReactionChange, plain, rating_of, reaction_line
from arvis.inbox.feeds import EventSource
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Transaction
from arvis.routing import Router, may_call

#: The maximum number of reactions in one event that are read.
_MOST_CHANGES = 20


def change_reactions(tx: Transaction, source: EventSource, change: ReactionChange, *, router: Router, now: int) -> bool:
    """Store the changed reactions of a person to a message. Return True if they changed anything."""
    source.advance(tx)
    platform, connector = change.address.platform, change.address.connector
    if change.event_id is not None and tx.events.seen(platform, connector, change.event_id) is not None:
        return False
    answer = tx.incoming.sent_as(change.address, change.ref)
    if answer is None or answer.conversation_id is None or answer.role not in {Role.ASSISTANT, Role.PROGRESS}:
        return False
    person = _permitted(tx, change, answer, router)
    if person is None:
        return False
    for emoji in map(plain, change.removed[:_MOST_CHANGES]):
        _remove(tx, answer, person, emoji)
    for emoji in map(plain, change.added[:_MOST_CHANGES]):
        _add(tx, answer, person, emoji, now)
    if change.event_id is not None:
        tx.events.keep(platform, connector, change.event_id, SeenEvent(answer.id, ""), now)
    return True


def _permitted(tx: Transaction, change: ReactionChange, answer: StoredMessage, router: Router) -> Principal | None:
    """Return the person who reacts; None if this person may not ask the agent that wrote the message."""
    platform, sender = change.address.platform, change.sender
    person = tx.principals.find(platform, sender.user_id)
    agent = tx.agents.get(answer.agent_id or "")
    if person is None or agent is None or sender.bot:
        return None
    match router.role_of(platform, sender, person):
        case PrincipalRole.BLOCKED:
            return None
        case PrincipalRole.OWNER:
            return person
        case _:
            known = replace(sender, paired=person.paired)
            return person if may_call(tx, known, agent, change.address) else None


def _add(tx: Transaction, answer: StoredMessage, person: Principal, emoji: str, now: int) -> None:
    if not emoji:
        return
    tx.reactions.add(answer, person.id, emoji, reaction_line(person.name, emoji, answer.content), now)
    rating = rating_of(emoji)
    if rating is not None and answer.role is Role.ASSISTANT:  # texts before an answer are not rated
        tx.reactions.rate(answer.id, person.id, rating, now)


def _remove(tx: Transaction, answer: StoredMessage, person: Principal, emoji: str) -> None:
    tx.reactions.remove(answer.id, person.id, emoji)
    if (rating := rating_of(emoji)) is not None:
        tx.reactions.unrate(answer.id, person.id, rating)
