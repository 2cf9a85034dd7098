"""Routes a message and checks the permission of its sender. The message is then accepted, stored as overheard, or
rejected with a reason (steps 2, 4 and 8 of `arvis/message_flow.py`).

The script of a message begins with `EventSource.advance`. A repeated event creates no row. No model is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from arvis.approvals import APPROVERS, Approvers
from arvis.commands import registry as commands
from arvis.commands.invocation import Invocation, Spoken
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning
from arvis.domain.events import Event
from arvis.domain.jobs import JobStatus, Priority
from arvis.domain.messages import (
    Address,
    Attachment,
    FileKind,
    FileRef,
    FileState,
    IncomingMessage,
    MessageStatus,
    Role,
    StoredMessage,
)
from arvis.domain.platforms import OverheardMessage
from arvis.domain.plugins import PluginCommand
from arvis.domain.quotations import QuotationKind, is_forward, with_quotations
from arvis.inbox.feeds import EventSource
from arvis.llm.tokens import estimate_tokens
from arvis.messaging.messages import notice
from arvis.messaging.streaming import Shown, nothing_shown
from arvis.ports.inbox import Received
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Transaction
from arvis.prompt import first_zone
from arvis.routing import NOT_ADDRESSED, WEB, Refused, Routed, Router
from arvis.services import allowances
from arvis.services.allowances import Allowed, UsedUp
from arvis.services.people import PAIRABLE, offer_pairing
from arvis.turns import questions, turns
from arvis.turns.cancellation import CancelledTurn

# -- turns of bots -----------------------------------------------------------------------------------------------------

# Two bots that answer each other would never stop. After a limited number of turns, their messages are rejected until a
# person writes or the channel is silent for `PAUSE_MS`.

#: The maximum number of consecutive turns that messages of bots begin in one place.
MOST_BOT_TURNS = 5
#: The maximum number of such turns in a channel and all its threads together. It is needed because some bots begin a new
#: thread with each answer.
MOST_IN_CHANNEL = 20
#: After this time (ms) without turns the count starts again at 0, so that a bot may report every hour.
PAUSE_MS = 15 * 60_000


def may_begin_turn(tx: Transaction, address: Address, *, bot: bool, now: int) -> bool:
    """Count a turn that is about to begin in this place. Return False if a bot's message would begin the turn and the
    limit is reached. A person's message resets the count. Call this function once for each permitted event, in the
    transaction that accepts the event."""
    channel = replace(address, thread="")
    limits = {f"bot_turns_in:{channel.lane}": MOST_IN_CHANNEL, f"bot_turns:{address.lane}": MOST_BOT_TURNS}
    counts = {key: _count(tx, key, now) for key in limits}
    if bot and any(counts[key] >= most for key, most in limits.items()):
        return False
    for key, count in counts.items():
        if bot or count:
            tx.kv.put(key, f"{count + 1 if bot else 0}:{now}", now)
    return True


def _count(tx: Transaction, key: str, now: int) -> int:
    count, _, at = (tx.kv.get(key) or "0:0").partition(":")
    return 0 if now - int(at) >= PAUSE_MS else int(count)


# Albums: several events of a platform that form one message. The message waits in the queue for further events.


#: After each event of an album, its message waits for this time (ms) for the next event.
ALBUM_MS = 1_500


def belongs_to_album(tx: Transaction, message: IncomingMessage) -> bool:
    """Return True if this event is a further part of an accepted album of the same person. Such an event counts as
    addressed to the bot, because only one part of an album contains the text that addresses the bot."""
    if message.album is None:
        return False
    known = tx.incoming.by_album(message.address, message.album)
    asked = known is not None and known.execution_id is not None
    sender = tx.principals.find(message.address.platform, message.sender.user_id) if asked else None
    return sender is not None and known is not None and known.principal_id == sender.id


def join_album(tx: Transaction, message: IncomingMessage, files: Sequence[Attachment], now: int) -> Received | None:
    """Add this event to the message of its album. Return None if the album has no message yet, or if the turn of this
    message has begun. The event then becomes a separate message."""
    known = tx.incoming.by_album(message.address, message.album or "")
    if known is None or known.execution_id is None or is_forward(known.quotations) is not message.forwarded:
        return None
    waiting = [job for job in tx.jobs.live_of_execution(known.execution_id) if job.status is JobStatus.PENDING]
    if len(waiting) != 1 or not tx.jobs.defer(waiting[0].id, now + ALBUM_MS):
        return None
    tx.files.add(known.id, files)
    if message.content:
        text = f"{known.content}\n{message.content}" if known.content else message.content
        tx.incoming.replace_text(known.id, text, estimate_tokens(text))
    event = SeenEvent(known.id, MessageStatus.ACCEPTED)
    tx.events.keep(message.address.platform, message.address.connector, message.event_id, event, now)
    return Received(known.id, MessageStatus.ACCEPTED, "album")


#: The maximum number of characters of an overheard message that are stored.
LONGEST_OBSERVED = 2_000


def _none(_names: Sequence[str]) -> Sequence[PluginCommand]:
    """Return no commands: the default without plugins."""
    return ()


@dataclass(frozen=True, slots=True)
class InboxRules:
    """The configuration of incoming messages."""

    #: The daemon's time zone.
    zone: str = "UTC"
    #: A message that was written more than this time (ms) ago gets no answer.
    answer_within: int = 3_600_000
    #: The people who may approve calls of tools.
    approvers: Approvers = tuple(APPROVERS["owners"])
    #: The limits of messages and bytes for each person.
    allowed: Allowed = field(default_factory=Allowed)
    #: Returns the text commands of the named plugins.
    commands: Callable[[Sequence[str]], Sequence[PluginCommand]] = _none
    #: Returns the part of a running reply that people have seen.
    shown: Shown = nothing_shown


#: The maximum number of files of one message that are fetched.
_MOST_FILES = 50
_TOO_OLD = "too_old"
_BOT_TALK = "bot_loop"
_TOO_MANY = "too_many_messages"
#: The maximum number of characters of a rejected message that are stored. The limit prevents unknown senders from
#: filling the disk.
_LONGEST_DROPPED = 2_000


@dataclass(frozen=True, slots=True)
class Handled:
    """The result of handling a message."""

    #: The answer for the connector.
    received: Received
    #: The turns that the message cancelled. They are announced after the commit.
    cancelled: Sequence[CancelledTurn] = ()
    #: The events that are published after the commit.
    events: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Values that are computed before the transaction of a message: a new code for the pairing of an unknown person or
    for the command `/link`, and the vector of the text of the command `/memory search`."""

    code: str
    meaning: Meaning | None = None


def handle_message(
    tx: Transaction,
    source: EventSource,
    message: IncomingMessage,
    uploads: Sequence[Attachment],
    *,
    router: Router,
    rules: InboxRules,
    prepared: Prepared,
    now: int,
) -> Handled:
    """Route a message, and then accept it, store it as overheard, or reject it. An accepted message gets a job for its
    turn. All of this is one transaction. `uploads` are the files whose bytes came with the message."""
    source.advance(tx)
    if (known := _known(tx, message)) is not None:
        return Handled(known)
    if message.address.platform != WEB:
        tx.channel_status.clear(message.address)  # the channel has sent a message, so it can be reached again
    if belongs_to_album(tx, message):
        message = replace(message, addressed=True)
    match router.route(tx, message):  # step 2
        case Routed() as routed:
            return _dispatch(tx, routed, uploads, rules, now, prepared=prepared)
        case Refused(reason=reason) as refused if reason == NOT_ADDRESSED:
            return Handled(_observe(tx, message, refused, now))
        case refused:
            return Handled(_reject(tx, message, refused, prepared.code, now))


def _differs(tx: Transaction, known: StoredMessage, message: IncomingMessage) -> bool:
    """Return True if `message` has the same event id as the `known` message but a different text or different files.
    The files are compared only if the known message has a turn."""
    if known.content != message.content:
        return True
    turn = tx.messages.of_turn(known.execution_id) if known.execution_id is not None else []
    names = [*(upload.filename for upload in message.uploads), *(file.filename for file in message.files)]
    return any(each.id == known.id and names != [file.filename for file in each.attachments] for each in turn)


def _known(tx: Transaction, message: IncomingMessage) -> Received | None:
    """Return the earlier result of this event; None if the event is new."""
    address = message.address
    if (known := tx.messages.by_event(address, message.event_id)) is not None:
        return Received(
            known.id, known.status, known.reason or "", duplicate=True, differs=_differs(tx, known, message)
        )
    if message.album is None:
        return None
    joined = tx.events.seen(address.platform, address.connector, message.event_id)
    if joined is None:
        return None
    return Received(joined.message_id or "", MessageStatus(joined.outcome), "", duplicate=True)


def _dispatch(
    tx: Transaction, routed: Routed, uploads: Sequence[Attachment], rules: InboxRules, now: int, *, prepared: Prepared
) -> Handled:
    """Handle a permitted message. It may be too old, exceed a limit, answer a question, be a command, belong to an
    album, or begin a turn."""
    message = routed.message
    if message.sent_at is not None and now - message.sent_at > rules.answer_within:
        return Handled(_expire(tx, routed, now))
    if not may_begin_turn(tx, message.address, bot=message.sender.bot, now=now):
        return Handled(_reject(tx, message, Refused(_BOT_TALK, routed.role, routed.agent), "", now))
    number = _count_message(tx, routed, rules, now)
    if isinstance(number, Received):
        return Handled(number)
    files = [*uploads, *_files_to_fetch(message.files)]
    if not files and (answered := _take_as_answer(tx, routed, rules, now)) is not None:
        return Handled(answered)
    command = None if message.forwarded else commands.parse(message.content)
    if command is not None and not files:
        return _run_command(tx, routed, command, rules, now, prepared=prepared)
    if message.album is not None and (joined := join_album(tx, message, files, now)) is not None:
        return Handled(joined)
    return Handled(
        enqueue_turn(tx, routed, files, now, number=number)
    )  # store the message and enqueue its turn (steps 4 and 8)


def _count_message(tx: Transaction, routed: Routed, rules: InboxRules, now: int) -> int | Received:
    """Return the number of the sender's messages in this minute. Refuse the message if the sender has reached the limit.
    Over the web the sender then gets an error. On a chat platform the message is stored as dropped, and the person gets
    one notice in each window of the limit."""
    message, agent = routed.message, routed.agent
    person = tx.principals.find(message.address.platform, message.sender.user_id)
    used = allowances.count_message(tx, person, routed.role, rules.allowed, now)
    if not isinstance(used, UsedUp):
        return used
    if message.address.platform == WEB:
        raise allowances.too_many_messages(used)
    dropped = _unrouted_message(tx, message, Refused(_TOO_MANY, routed.role, agent), now)
    tx.messages.add(dropped, event_id=message.event_id)
    if used.tell:
        notice(tx, like=dropped, text=allowances.notice_of(used), priority=Priority.BACKGROUND, now=now)
    return Received(dropped.id, MessageStatus.DROPPED, _TOO_MANY)


def _take_as_answer(tx: Transaction, routed: Routed, rules: InboxRules, now: int) -> Received | None:
    """Answer an open question with the message. Return None if the message is not an answer; it may then begin a
    turn."""
    message, sender, agent = routed.message, routed.message.sender, routed.agent
    if message.forwarded or not (message.in_reply_to or tx.waits.any_open()):
        return None  # a forwarded text is not the person's own answer
    by = tx.principals.seen(message.address.platform, sender.user_id, sender.name, routed.role, now)
    answer = questions.WrittenAnswer(message.content, message.address, message.sent_at, message.in_reply_to)
    if (wait := questions.replied_question(tx, answer)) is not None:
        text = questions.review_reply(tx, answer, wait, by=by, approvers=rules.approvers, now=now)
    elif talk := next((each for each in tx.conversations.in_place(answer.place) if each.agent_id == agent.id), None):
        text = questions.review(tx, answer, talk=talk, by=by, approvers=rules.approvers, now=now)
    else:
        return None
    if text is None:
        return None
    asked = turns.answer_at_once(tx, message, text, agent=agent, principal=by, route=routed.reason, now=now)
    return Received(asked.id, asked.status, "review")


def enqueue_turn(tx: Transaction, routed: Routed, files: Sequence[Attachment], now: int, *, number: int) -> Received:
    """Store a person's message, and the conversation, execution and job that the message needs. `number` counts the
    messages of this person in this minute."""
    message = routed.message
    sender = message.sender
    principal = tx.principals.seen(message.address.platform, sender.user_id, sender.name, routed.role, now)
    accepted = turns.begin_turn(
        tx,
        message,
        agent=routed.agent,
        route=routed.reason,
        principal=principal,
        attachments=files,
        now=now,
        run_at=None if message.album is None else now + ALBUM_MS,
        number=number,
    )
    return Received(accepted.id, MessageStatus.ACCEPTED, routed.reason)


def _files_to_fetch(files: Sequence[FileRef]) -> Iterator[Attachment]:
    """Yield the files to fetch, at most `_MOST_FILES`. If there are more files, one failed attachment represents
    them."""
    yield from map(_to_fetch, files[:_MOST_FILES])
    if (more := len(files) - _MOST_FILES) > 0:
        problem = f"at most {_MOST_FILES} files of one message are read"
        yield Attachment(f"{more} more files", "", 0, "", FileState.FAILED, FileKind.OTHER, problem=problem)


def _to_fetch(file: FileRef) -> Attachment:
    return Attachment(
        filename=file.filename,
        content_type=file.content_type,
        size=file.size or 0,
        sha256="",
        state=FileState.WAITING,
        kind=FileKind.VOICE if file.voice else None,
        source=file.source,
    )


def _run_command(
    tx: Transaction, routed: Routed, command: Spoken, rules: InboxRules, now: int, *, prepared: Prepared
) -> Handled:
    """Run a text command. The daemon answers it immediately, without a turn."""
    message, agent = routed.message, routed.agent
    sender = message.sender
    principal = tx.principals.seen(message.address.platform, sender.user_id, sender.name, routed.role, now)
    conversation = tx.conversations.open(agent.id, message.address, now, direct=message.is_direct)
    invocation = Invocation(
        name=command.name,
        argument=command.argument,
        address=message.address,
        principal=principal,
        agent=agent,
        conversation=conversation,
        zone=first_zone(principal.timezone, agent.timezone, rules.zone),
        route=routed.reason,
        sender=sender,
        daemon_zone=rules.zone,
        more=rules.commands(agent.plugins) if agent.plugins else (),
        shown=rules.shown,
        code=prepared.code,
        meaning=prepared.meaning,
    )
    result = commands.perform(tx, invocation, now)
    asked = turns.answer_at_once(
        tx, message, result.text, agent=agent, principal=principal, route=routed.reason, now=now
    )
    return Handled(Received(asked.id, asked.status, "command"), result.stopped, result.events)


def _expire(tx: Transaction, routed: Routed, now: int) -> Received:
    """Store a message as expired, because it is too old for an answer."""
    message = routed.message
    conversation = tx.conversations.open(routed.agent.id, message.address, now, direct=message.is_direct)
    kept = _unrouted_message(tx, message, Refused(_TOO_OLD, routed.role, routed.agent), now)
    kept = replace(kept, conversation_id=conversation.id, status=MessageStatus.EXPIRED)
    tx.messages.add(kept, event_id=message.event_id)
    return Received(kept.id, kept.status, _TOO_OLD)


def _observe(tx: Transaction, message: IncomingMessage, refused: Refused, now: int) -> Received:
    """Store an overheard message as context, but only if an agent observes the channel."""
    content = message.content or " ".join(f"[{file.filename}]" for file in message.files)
    text = with_quotations(content, [each for each in message.quotations if each.kind is QuotationKind.FORWARD])
    if refused.observe > 0 and text.strip():
        seen = OverheardMessage(
            address=message.address,
            event_id=message.event_id,
            platform_ref=message.platform_ref,
            user_id=message.sender.user_id,
            user_name=message.sender.name,
            content=text[:LONGEST_OBSERVED],
            created_at=message.sent_at or now,
        )
        tx.overheard.add(seen, refused.observe)
    return Received("", MessageStatus.DROPPED, NOT_ADDRESSED)


def _reject(tx: Transaction, message: IncomingMessage, refused: Refused, code: str, now: int) -> Received:
    """Store a rejected message with its reason, without a job or conversation. An unknown person gets a pairing code if
    `offer_pairing` allows it."""
    dropped = _unrouted_message(tx, message, refused, now)
    tx.messages.add(dropped, event_id=message.event_id)
    if refused.reason in PAIRABLE and (offered := offer_pairing(tx, message, now, code)) is not None:
        notice(tx, like=dropped, text=offered, priority=Priority.BACKGROUND, now=now)
    return Received(dropped.id, MessageStatus.DROPPED, refused.reason)


def _unrouted_message(tx: Transaction, message: IncomingMessage, refused: Refused, now: int) -> StoredMessage:
    """Return a message without conversation and turn, with the status dropped."""
    principal = tx.principals.find(message.address.platform, message.sender.user_id)
    return StoredMessage(
        id=tx.new_id(),
        conversation_id=None,
        role=Role.USER,
        content=message.content[:_LONGEST_DROPPED],
        tokens=0,
        status=MessageStatus.DROPPED,
        address=message.address,
        principal_id=principal.id if principal else None,
        user_name=message.sender.name,
        agent_id=refused.agent.id if refused.agent else None,
        execution_id=None,
        turn=None,
        created_at=now,
        reason=refused.reason,
        platform_ref=message.platform_ref,
    )
