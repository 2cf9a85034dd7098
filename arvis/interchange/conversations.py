"""Imports conversations. The id of an imported row is computed from the name of the source and the row's id there, so
that a second import finds the row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from arvis.domain.conversations import Compaction, CompactionStatus, Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.ids import RANDOM_BITS, encode, moment_of
from arvis.domain.messages import Address, Attachment, MessageStatus, Principal, Role, StoredMessage
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.quotations import LONGEST_QUOTATION, MOST_QUOTATIONS, Quotation
from arvis.domain.taint import CLEAN, taint_of
from arvis.domain.text import storable, storable_json
from arvis.interchange.format import Conversation as Record
from arvis.interchange.format import Message, PersonRef, Round
from arvis.interchange.format import Quotation as QuotationRecord
from arvis.llm.tokens import estimate_tokens
from arvis.ports.store import Transaction
from arvis.prompt.tool_rounds import fair_share
from arvis.tasks.past_rounds import MOST_CALLS, MOST_OUTPUT

_ROWS = 200
_INSTALLATION = "installation"


def installation_of(tx: Transaction, now: int | None = None) -> str:
    """Return the name of this installation, which never changes. If there is no name yet and `now` is given, store a
    new name."""
    known = tx.kv.get(_INSTALLATION)
    if known is None and now is not None:
        known = tx.new_id()
        tx.kv.put(_INSTALLATION, known, now)
    return known or ""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A message with its turn and its position in the turn."""

    message: Message
    turn: int
    position: int


def derived_id(source: str, external: str, at: int) -> str:
    """Return the id of an imported row. The id begins with the time `at` (ms), and is the same at every import."""
    digest = hashlib.sha256(f"{source}\n{external}".encode()).digest()
    return encode(moment_of(at) | int.from_bytes(digest) & (1 << RANDOM_BITS) - 1)


def open_conversation(tx: Transaction, source: str, record: Record, agent_id: str, now: int) -> str:
    """Return the id of the imported conversation; create the conversation if it does not exist. A new conversation
    becomes active if the agent has no other conversation in this place, so that the next message there continues it. A
    conversation that this installation has exported keeps its id."""
    derived = derived_id(source, record.id, record.created_at)
    place = record.place
    address = Address(place.platform, place.connector or place.platform, place.channel, place.thread)
    own = installation_of(tx, now)
    for each in tx.interchange.in_place(agent_id, address):
        # `record` can be a conversation of this installation, with its own id or with the id that another installation
        # computed at an import. It can also be a conversation that was imported here before.
        if record.id in {each.id, derived_id(own, each.id, each.created_at)} or each.id == derived:
            return each.id
    others = [each for each in tx.conversations.in_place(address) if each.agent_id == agent_id]
    turns = max((each.turn for each in _numbered(record.messages)), default=0)
    conversation = Conversation(derived, agent_id, address, record.created_at, direct=record.direct)
    last = max((message.created_at for message in record.messages), default=record.created_at)
    tx.interchange.add_conversation(conversation, turns=turns, active=not others, last_message_at=min(last, now))
    return derived


def missing_messages(tx: Transaction, source: str, record: Record, conversation_id: str) -> list[int]:
    """Return the indexes of the messages that the conversation does not have."""
    own, known, after = installation_of(tx), set[str](), ""
    while rows := tx.interchange.messages(conversation_id, after, None, _ROWS):
        known |= {row.id for row in rows}
        known |= {derived_id(own, f"{conversation_id}\n{row.id}", row.created_at) for row in rows}
        after = rows[-1].id
    return [
        index
        for index, message in enumerate(record.messages)
        if known.isdisjoint({message.id, _message_id(source, record, message)})
    ]


def add_messages(tx: Transaction, source: str, record: Record, conversation_id: str, indexes: Sequence[int]) -> None:
    conversation = tx.conversations.get(conversation_id)
    if conversation is None:  # a person has erased the conversation since the import began
        return
    numbered = list(_numbered(record.messages))
    ids = {message.id: _message_id(source, record, message) for message in record.messages}
    for index in indexes:
        each = numbered[index]
        stored = _stored(tx, each, conversation, ids)
        if tx.messages.get(stored.id) is None:
            tx.messages.add(stored)
            files = [Attachment(f.filename, f.content_type, f.size, f.sha256) for f in each.message.files]
            tx.files.add(stored.id, files)
            for rated in each.message.feedback:
                person = _known(tx, rated.person, "", rated.at)
                tx.reactions.rate(stored.id, person.id, rated.rating, rated.at)


def add_summaries(tx: Transaction, source: str, record: Record, conversation_id: str, now: int) -> None:
    """Add the summaries that the conversation does not have."""
    if conversation_id != derived_id(source, record.id, record.created_at):
        return  # a conversation of this installation already has its summaries
    for summary in record.summaries:
        external = f"{record.id}\nsummary\n{summary.first_turn}-{summary.last_turn}"
        summary_id = derived_id(source, external, min(summary.created_at, now))
        if tx.compactions.get(summary_id) is None:
            tx.interchange.add_summary(
                Compaction(
                    id=summary_id,
                    conversation_id=conversation_id,
                    execution_id="",
                    first_turn=summary.first_turn,
                    last_turn=summary.last_turn,
                    summary=storable(summary.text),
                    tokens=estimate_tokens(summary.text),
                    taint=CLEAN,
                    messages_before=0,
                    messages_after=0,
                    tokens_saved=0,
                    status=CompactionStatus.ACTIVE,
                    created_at=min(summary.created_at, now),
                )
            )


def _stored(tx: Transaction, each: Numbered, conversation: Conversation, ids: dict[str, str]) -> StoredMessage:
    message = each.message
    ref = message.person
    person = None if ref is None else _known(tx, ref, message.name, message.created_at)
    return StoredMessage(
        id=ids[message.id],
        conversation_id=conversation.id,
        role=message.role,
        content=storable(message.content),
        tokens=estimate_tokens(message.content),
        status=MessageStatus.ANSWERED,
        address=conversation.address,
        principal_id=None if person is None else person.id,
        user_name=storable(message.name),
        agent_id=conversation.agent_id,
        execution_id=None,
        turn=each.turn,
        created_at=message.created_at,
        reply_to=ids.get(message.reply_to or ""),
        position=each.position,
        taint=taint_of(" ".join(message.taint)),
        rounds=_rounds(message.rounds),
        quotations=tuple(_quotation(each, ids) for each in message.quotations[:MOST_QUOTATIONS]),
    )


def _known(tx: Transaction, ref: PersonRef, name: str, at: int) -> Principal:
    """Return the person. Create the person if the store does not contain this identity."""
    known = tx.principals.find(ref.platform, ref.user_id)
    return known or tx.principals.seen(ref.platform, ref.user_id, storable(name) or ref.user_id, None, at)


def _quotation(each: QuotationRecord, ids: dict[str, str]) -> Quotation:
    return Quotation(
        kind=each.kind,
        writer=each.writer,
        text=storable(each.text)[:LONGEST_QUOTATION],
        author=storable(each.author),
        author_id=storable(each.author_id),
        message_id=ids.get(each.message or ""),
        partial=each.partial or len(each.text) > LONGEST_QUOTATION,
        adds=taint_of(" ".join(each.adds)),
    )


def _rounds(rounds: Sequence[Round]) -> tuple[PastRound, ...]:
    """Return the rounds, shortened to the limits that apply to the turns of this installation."""
    newest = rounds[-MOST_CALLS:]
    share = fair_share([len(call.output) for each in newest for call in each.calls[-MOST_CALLS:]], MOST_OUTPUT)
    return tuple(_round(each, share) for each in newest)


def _round(each: Round, share: int) -> PastRound:
    calls = [
        PastCall(
            name=storable(call.name),
            arguments=storable_json(call.arguments),
            output=Excerpt.of("" if call.secret else storable(call.output), share),
            failed=call.failed,
            secret=call.secret,
        )
        for call in each.calls[-MOST_CALLS:]
    ]
    return PastRound(storable(each.text), tuple(calls))


def _message_id(source: str, record: Record, message: Message) -> str:
    return derived_id(source, f"{record.id}\n{message.id}", message.created_at)


def _numbered(messages: Sequence[Message]) -> Iterator[Numbered]:
    """Yield the messages with their turns. If the messages have no turn numbers, each message of a person after another
    kind of message begins a new turn."""
    turn, position, before = 0, 0, Role.NOTICE
    for message in messages:
        if message.turn is not None:
            following = message.turn
        else:
            begins = turn == 0 or (message.role == Role.USER and before != Role.USER)
            following = turn + 1 if begins else turn
        position = position + 1 if following == turn else 0
        turn, before = following, message.role
        yield Numbered(message, turn, position)
