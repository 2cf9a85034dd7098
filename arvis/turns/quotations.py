"""The quotations of an incoming message, in the form in which they are stored with the message.

If the prompt contains a quoted message anyway, the quotation contains only the beginning of that message. The text of
any other quoted message is stored with the message, because the platform reports it only once.
"""

from __future__ import annotations

from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import IncomingMessage, Principal, Role, StoredMessage
from arvis.domain.quotations import (
    LONGEST_BEGINNING,
    LONGEST_QUOTATION,
    MOST_QUOTATIONS,
    Quotation,
    QuotationKind,
    Writer,
    is_forward,
)
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.text import presentable
from arvis.graphs.context import HISTORY_ROWS
from arvis.ports.store import Transaction
from arvis.services.roles import WEB

_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Quoted:
    """The quotations of a message, and the taint of the message with them."""

    quotations: tuple[Quotation, ...]
    taint: Taint


def quoted_by(tx: Transaction, incoming: IncomingMessage, conversation: Conversation, principal: Principal) -> Quoted:
    """Return the quotations of a message in a conversation. A message that quotes nothing runs no statement."""
    found: list[Quotation] = []
    taint = incoming.taint
    if incoming.forwarded:
        # A forwarded text was written by other people, so it does not count as a request of the sender.
        taint |= {Label.PEOPLE}
    for each in incoming.quotations[:MOST_QUOTATIONS]:
        if each.kind is QuotationKind.THREAD and tx.messages.history(conversation.id, 1):
            continue  # the conversation of the thread has begun before, so the agent knows the first message
        known = None if each.ref is None else _stored(tx, incoming, each.ref)
        if known is None and incoming.address.platform == WEB:
            continue  # on the web, a quoted text comes only from a stored message, and this message is not stored
        quotation = replace(each, author=presentable(each.author)[:_LONGEST_NAME])
        if known is None:
            quotation, labels = _bounded(quotation), _labels(quotation)
        else:
            quotation, labels = _of_stored(tx, quotation, known, conversation, principal), _labels_of(known, principal)
        # The label FLAGGED (an attempt to command the model) applies to the whole message and not to one quotation.
        found.append(replace(quotation, adds=labels - taint - {Label.FLAGGED}))
        taint |= labels
    return Quoted(tuple(found), taint)


def _stored(tx: Transaction, incoming: IncomingMessage, ref: str) -> StoredMessage | None:
    """Return the stored message with this platform id, or with this id on the web, in the channel of `incoming`."""
    if incoming.address.platform == WEB:
        known = tx.messages.get(ref)
        return known if known is not None and known.address == incoming.address else None
    return tx.incoming.by_ref(incoming.address, ref) or tx.incoming.sent_as(incoming.address, ref)


def _of_stored(
    tx: Transaction, quotation: Quotation, known: StoredMessage, conversation: Conversation, principal: Principal
) -> Quotation:
    """Return the quotation of a stored message. The row decides who wrote the message and from which sources."""
    author = tx.principals.get(known.principal_id) if known.principal_id and not quotation.author_id else None
    quotation = replace(
        quotation,
        writer=_writer(known, principal),
        author=quotation.author or known.user_name,
        # An erasure of the author finds the quotation by this id.
        author_id=quotation.author_id or (author.user_id if author is not None else ""),
        text=quotation.text or known.content,
    )
    if known.conversation_id != conversation.id:
        return _bounded(quotation)
    quotation = replace(quotation, message_id=known.id)
    in_prompt = any(each.id == known.id for each in tx.messages.history(conversation.id, HISTORY_ROWS))
    return _bounded(quotation, LONGEST_BEGINNING if in_prompt and not quotation.partial else LONGEST_QUOTATION)


def _writer(known: StoredMessage, principal: Principal) -> Writer:
    if known.role is not Role.USER:
        return Writer.AGENT
    return Writer.SENDER if known.principal_id == principal.id else Writer.OTHER


def _bounded(quotation: Quotation, most: int = LONGEST_QUOTATION) -> Quotation:
    if len(quotation.text) <= most:
        return quotation
    return replace(quotation, text=quotation.text[:most].rstrip(), partial=True)


def _labels_of(known: StoredMessage, principal: Principal) -> Taint:
    """Return the labels of a stored message when this person quotes it."""
    foreign = _writer(known, principal) is Writer.OTHER
    return known.taint | {Label.PEOPLE} if foreign else known.taint


def _labels(quotation: Quotation) -> Taint:
    """Return the labels of a quoted text that is not stored, so that only the platform reports its author."""
    if is_forward([quotation]):
        return CLEAN  # the content is the forwarded text, and has the label
    if quotation.kind is QuotationKind.FORWARD or quotation.writer is Writer.OTHER:
        return frozenset({Label.PEOPLE})
    return frozenset({Label.AGENTS}) if quotation.writer is Writer.AGENT else CLEAN
