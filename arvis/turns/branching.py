"""The transaction script that branches a conversation: a new conversation begins with copies of the messages up to and
including the turn of a chosen message."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.conversations import CompactionStatus, Conversation
from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, Forbidden, NotFound
from arvis.domain.messages import Address, Principal, PrincipalRole, Role, StoredMessage
from arvis.ports.store import Transaction

#: The maximum number of messages that a branch copies.
MOST_COPIED = 2_000
_LOOKS_AFTER = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})


def branch_conversation(tx: Transaction, message_id: str, place: Address, by: Principal, now: int) -> Conversation:
    """Begin a conversation with the same agent at `place`, with copies of all messages up to and including the turn of
    this message. The copies cost nothing and have no timelines. Raise `NotFound`, `Conflict` or `Forbidden`."""
    message = tx.messages.get(message_id)
    conversation = tx.conversations.get(message.conversation_id or "") if message is not None else None
    asked = tx.messages.get(message.reply_to) if message is not None and message.reply_to else message
    ours = asked is not None and by.id and by.id == asked.principal_id
    if message is None or conversation is None or not (ours or by.role in _LOOKS_AFTER):
        raise NotFound("There is no such message.", fix="Check the id of the message.")
    if message.turn is None:
        raise Conflict(
            "The conversation cannot be branched at this message.",
            why="The turn of the message has not ended, or the message belongs to an inactive version.",
            fix="Wait until the turn has ended, or switch to that version.",
        )
    copied = _messages_until(tx, conversation, message.turn, by)
    tx.jobs.lock([place.lane])  # so that no other branch begins there
    if tx.conversations.in_place(place):
        raise Conflict(f"The channel {place.channel} already has a conversation.", fix="Name another channel.")
    branch = tx.conversations.open(conversation.agent_id, place, now, direct=True)
    tx.conversations.set_remembers(branch, remembers=conversation.remembers)
    _copy(tx, copied, branch, now)
    tx.conversations.set_effort(branch.id, conversation.effort)
    return replace(branch, remembers=conversation.remembers, effort=conversation.effort)


def _messages_until(tx: Transaction, conversation: Conversation, turn: int, by: Principal) -> Sequence[StoredMessage]:
    """Return the messages up to and including this turn. Raise an error if this person may not read all of them, or if
    texts are missing."""
    versions = tx.conversation_versions
    found = versions.messages_from(conversation.id, 1, MOST_COPIED + 1)
    until = [each for each in found if each.turn is not None and each.turn <= turn]
    if len(until) > MOST_COPIED:
        raise Conflict(f"More than {MOST_COPIED:,} messages precede this message.", fix="Branch at an earlier message.")
    if by.role not in _LOOKS_AFTER and any(each.role is Role.USER and each.principal_id != by.id for each in until):
        raise Forbidden(
            "Other people have written in this part of the conversation.", fix="Ask an operator or an owner to do so."
        )
    if any(each.status is CompactionStatus.FINAL for each in versions.summaries_from(conversation.id, 1)):
        raise Conflict(
            "The conversation cannot be branched.",
            why="Texts of its first messages were deleted (`retention.compacted_days`).",
            fix="Write a new message instead.",
        )
    return until


def _copy(tx: Transaction, messages: Sequence[StoredMessage], branch: Conversation, now: int) -> None:
    """Add copies of these messages. Turns are numbered from 1."""
    ids = {each.id: tx.new_id() for each in messages}
    turns: dict[int | None, int] = {}
    for each in messages:
        if each.turn not in turns:
            turns[each.turn] = tx.conversations.next_turn(branch.id, now)
        copy = replace(
            each,
            id=ids[each.id],
            conversation_id=branch.id,
            address=branch.address,
            execution_id=None,
            turn=turns[each.turn],
            reply_to=ids.get(each.reply_to or ""),
            platform_ref=None,
            album=None,
            wait_id=None,
        )
        tx.messages.add(copy)
        tx.files.add(copy.id, tx.files.of_message(each.id))
    for each in messages:
        if each.reply_to in ids and each.role is not Role.PROGRESS:
            tx.messages.answered_by(ids[each.reply_to], ids[each.id])
