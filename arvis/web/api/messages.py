"""Messages over HTTP: send a message, read its timeline, and wait for its reply."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Annotated
from urllib.parse import quote

from starlette.responses import Response

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError, Conflict, NotFound
from arvis.domain.events import Changed, NoticesMissed, StatusChanged
from arvis.domain.messages import FINAL_STATUSES, Attachment, MessageStatus, OutgoingFile, Role, Sender
from arvis.domain.reactions import Rating
from arvis.ports.browsing import MessageFilter
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, MessageTimeline
from arvis.ports.operations import Operations
from arvis.ports.store import Store, Transaction
from arvis.services import allowances
from arvis.services.roles import WEB
from arvis.web.api.conversations import AskedMessageView
from arvis.web.api.message_input import MessageParser, NewMessage
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.open_access import OpenAccess, access_ended
from arvis.web.http.endpoints import IDEMPOTENCY_KEY, PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.errors import STOPPING, Failure, failure_of
from arvis.web.http.identity import ANYONE, OPERATE, READ, SEND, Identity, address_for
from arvis.web.http.limits import Timeouts
from arvis.web.http.models import MEMBER, About, Body, Label, OkView, Page
from arvis.web.http.requests import declares_large, display_name
from arvis.web.http.schema import FILE, INTEGER, LABEL, NUMBER, Schema, one_of
from arvis.web.http.static_files import file_response
from arvis.web.http.views import TimelineView

# Requests that wait until a message is finished or needs a person. An event on the bus is only a signal: the waiting
# request then reads the status from the database. It also reads the status at intervals, because a notification can be
# lost. A request stops waiting when its credential becomes invalid.

#: Statuses that end a wait: the message is finished, or it needs a person.
SETTLED_STATUSES = FINAL_STATUSES | {MessageStatus.WAITING}


class Watch:
    """A request that waits for a message or a run. If `closed` is True, the wait must end. `refused` is the error to
    return if the caller's credential is no longer valid."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self.closed = False
        self.refused: ArvisError | None = None

    @property
    def failure(self) -> Failure:
        """Return the error that ended the wait."""
        return STOPPING if self.refused is None else failure_of(self.refused)

    def raise_if_refused(self) -> None:
        if self.refused is not None:
            raise self.refused

    async def changed(self, timeout: float) -> None:
        """Wait until `wake` is called, or for `timeout` seconds. The caller then reads the status again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        self._woken.clear()

    def wake(self, *, close: bool = False) -> None:
        self.closed = self.closed or close
        self._woken.set()

    def refuse(self) -> None:
        self.refused = access_ended()
        self.wake(close=True)


class StatusWaiter:
    """The waiting requests of this process, by message."""

    def __init__(self, *, access: OpenAccess) -> None:
        self._access = access
        self._watches: dict[str, set[Watch]] = {}
        self._closed = False

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        """Subscribe to the bus while the context is open."""
        self._closed = False
        subscriptions = [
            bus.subscribe(StatusChanged, self._status_changed),
            bus.subscribe(NoticesMissed, lambda _: self._wake_all()),
        ]
        try:
            yield
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    def close(self) -> None:
        """End all waits because the server stops."""
        self._closed = True
        self._wake_all(close=True)

    @contextlib.contextmanager
    def watch(self, message_id: str, identity: Identity) -> Iterator[Watch]:
        watch = Watch()
        watch.closed = self._closed
        watches = self._watches.setdefault(message_id, set())
        watches.add(watch)
        try:
            with self._access.held(identity, watch.refuse):
                yield watch
        finally:
            watches.discard(watch)
            if not watches:
                self._watches.pop(message_id, None)

    def watched(self, message_id: str) -> bool:
        return message_id in self._watches

    def _wake_all(self, *, close: bool = False) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.wake(close=close)

    def _status_changed(self, event: StatusChanged) -> None:
        if event.status in SETTLED_STATUSES:
            for watch in self._watches.get(event.message_id, ()):
                watch.wake()


# Files of replies to messages from the web. A caller who may read the message may download the files of its reply.


#: The content types that are sent to a browser unchanged. All other files are sent as plain bytes, so that the browser
#: runs nothing that a model wrote.
_SHOWN_AS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BYTES = "application/octet-stream"
_NAMES: Mapping[str, Schema] = {"number": {**INTEGER, "minimum": 0}}


class DeliveryRoutes(Routes):
    def __init__(self, *, store: Store, gate: Authorizer) -> None:
        self._store = store
        self._gate = gate

    @route(
        "GET",
        "/api/deliveries/{delivery}/files/{number}",
        "Download a file of a reply, numbered from 0",
        ANYONE,
        {200: FILE},
        names=_NAMES,
        media="*/*",
    )
    async def _fetch(self, call: Call) -> Response:
        number, delivery_id = str(call.request.path_params["number"]), call.id("delivery")
        found = await self._store.read(_delivery_file_of, delivery_id, number)
        if found is None or not await self._may_read(call, found[1]):
            raise NotFound("There is no such file.", fix="Check the address of the file.")
        file = found[0]
        data = await self._store.get_blob(file.sha256) if file.sha256 else file.content.encode()
        if data is None:
            raise NotFound("This file is no longer stored.", fix="Ask the agent for the file again.")
        return Response(
            data, media_type=file.content_type if file.content_type in _SHOWN_AS else _BYTES, headers=_headers(file)
        )

    async def _may_read(self, call: Call, principals: tuple[str | None, ...]) -> bool:
        """Return whether the caller may read the delivery. A chat key may read replies to its own messages."""
        if call.identity.role in READ:
            return True
        for principal_id in principals:
            if await self._gate.owns(call.identity, principal_id):
                return True
        return False


def _delivery_file_of(
    tx: Transaction, delivery_id: str, number: str
) -> tuple[OutgoingFile, tuple[str | None, ...]] | None:
    """Return the file, and the senders of the messages that its delivery answers."""
    delivery = tx.deliveries.get(delivery_id)
    if delivery is None or not number.isascii() or not number.isdecimal() or len(number) > len("999"):
        return None
    if int(number) >= len(delivery.files):
        return None
    answered = [tx.messages.get(message_id) for message_id in delivery.answers]
    return delivery.files[int(number)], tuple(message.principal_id for message in answered if message is not None)


def _headers(file: OutgoingFile) -> dict[str, str]:
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.filename, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-store",
    }


_DEFAULT_WAIT = 30.0
_LONGEST_WAIT = 120.0
_FILTERS = {"status": one_of(MessageStatus), "agent": LABEL, "platform": LABEL, "conversation": LABEL, "q": LABEL}


class SentMessage(NewMessage):
    user_id: Annotated[Label | None, About("Used only with an owner key.")] = None
    user_name: str | None = None
    channel_id: Annotated[Label | None, About("Default: `web-USERID`.")] = None


class NewRating(Body):
    rating: Annotated[Rating, MEMBER]


class AcceptedMessageView(OkView):
    message_id: str


_ALL, _ONE = "/api/messages", "/api/messages/{message}"


class MessageRoutes(Routes):
    def __init__(
        self,
        *,
        parser: MessageParser,
        insights: Insights,
        operations: Operations,
        store: Store,
        gate: Authorizer,
        board: StatusWaiter,
        clock: Clock,
        timeouts: Timeouts,
        bus: EventBus,
    ) -> None:
        self._bus = bus
        self._operations = operations
        self._store = store
        self._parser = parser
        self._insights = insights
        self._gate = gate
        self._board = board
        self._clock = clock
        self._timeouts = timeouts

    @route(
        "POST",
        _ALL,
        "Send a message; the response follows its commit",
        SEND,
        {202: AcceptedMessageView},
        body=SentMessage,
        large=True,
        keyed=False,
    )
    async def _send(self, call: Call) -> Response:
        if declares_large(call.request):
            await self._check_limit(call.identity)
        body = await call.read(SentMessage)
        sender = self._gate.sender(call.identity, body.user_id, display_name(body.user_name))
        address = address_for(call.identity, body.channel_id or f"web-{sender.user_id}")
        if body.id is None:
            body.id = NewMessage.read({"id": call.request.headers.get(IDEMPOTENCY_KEY)}).id
        sent = await self._parser.send(await self._parser.draft(body), address, sender)
        return answer(AcceptedMessageView(ok=True, message_id=sent.message_id), 202)

    async def _check_limit(self, identity: Identity) -> None:
        """Raise `TooMany` if the sender has reached the limit of messages. A large body is then neither read nor decoded, so
        a flood of files does not slow down other people. An owner key can name another sender in the body, and has no
        limit."""
        if identity.may_name:
            return
        person, now = await self._gate.asker(identity), self._clock.now()
        reached = await self._store.read(allowances.limit_of_messages, person, person.role, self._parser.allowed, now)
        if reached is not None:
            await self._parser.refuse(allowances.too_many_messages(reached))

    @route(
        "GET",
        _ALL,
        "List messages of people, newest first",
        READ,
        {200: Page[AskedMessageView]},
        query={**PAGING, **_FILTERS},
    )
    async def _list(self, call: Call) -> Response:
        status = call.choice("status", MessageStatus)
        which = MessageFilter(
            status=None if status is None else MessageStatus(status),
            agent=call.query("agent"),
            platform=call.query("platform"),
            conversation_id=call.query("conversation"),
            text=call.query("q"),
        )
        page = await self._insights.asked_messages(which, limit=call.limit, cursor=call.query("cursor"))
        return answer_page([AskedMessageView.of(each) for each in page.items], page.next_cursor)

    @route("POST", f"{_ONE}/retry", "Let the agent retry a message", OPERATE, {200: TimelineView})
    async def _retry(self, call: Call) -> Response:
        job = (await self._timeline(call)).job
        if job is None:
            raise Conflict("This message has no job to retry.", fix="Send the message again.")
        await self._operations.retry_job(job.id)
        return await self._show(call)

    @route(
        "GET",
        f"{_ONE}/files/{{number}}",
        "Download an attachment of a message, numbered from 0",
        ANYONE,
        {200: FILE},
        names=_NAMES,
        media="*/*",
    )
    async def _file(self, call: Call) -> Response:
        """Return a file of the caller's own message, or of any message for callers who may read everything."""
        await self._timeline(call)
        file = await self._store.read(_file_of, call.id("message"), str(call.request.path_params["number"]))
        data = await self._store.get_blob(file.sha256) if file is not None and file.sha256 else None
        if file is None or data is None:
            raise NotFound("There is no such file.", fix="Check the address; old files are deleted.")
        return file_response(data, file.filename)

    @route("GET", _ONE, "Show the timeline of a message", ANYONE, {200: TimelineView})
    async def _show(self, call: Call) -> Response:
        return answer(TimelineView.of(await self._timeline(call)))

    @route(
        "GET",
        f"{_ONE}/wait",
        "Wait until the status is final or `waiting`, or for `timeout` seconds, then show the timeline",
        ANYONE,
        {200: TimelineView},
        query={"timeout": {**NUMBER, "minimum": 0, "default": _DEFAULT_WAIT}},
    )
    async def _wait(self, call: Call) -> Response:
        """Wait for a status. The request subscribes before it reads the status, so that it misses no change."""
        end = self._clock.monotonic() + call.seconds("timeout", _DEFAULT_WAIT, _LONGEST_WAIT)
        with self._board.watch(call.id("message"), call.identity) as watch:
            timeline = await self._timeline(call)
            status = timeline.status
            while status not in SETTLED_STATUSES and not watch.closed and not await call.request.is_disconnected():
                remaining = end - self._clock.monotonic()
                if remaining <= 0:
                    break
                await watch.changed(min(remaining, self._timeouts.look))
                found = await self._insights.status(timeline.message.id)
                status = timeline.status if found is None else found[0]
            watch.raise_if_refused()
            if status is not timeline.status:
                timeline = await self._timeline(call)
        return answer(TimelineView.of(timeline))

    @route(
        "PUT",
        f"{_ONE}/feedback",
        "Rate a reply; a person has one rating of each reply",
        SEND,
        {200: OkView},
        body=NewRating,
    )
    async def _rate(self, call: Call) -> Response:
        body = await call.read(NewRating)
        return await self._change_rating(call, body.rating)

    @route("DELETE", f"{_ONE}/feedback", "Remove your rating of a reply", SEND, {200: OkView})
    async def _unrate(self, call: Call) -> Response:
        return await self._change_rating(call, None)

    async def _change_rating(self, call: Call, rating: Rating | None) -> Response:
        """Store the caller's rating of a reply that the caller may read."""
        reply = await self._store.read(_reply_of, call.id("message"))
        if reply is None or not (call.identity.role in READ or await self._gate.owns(call.identity, reply.asked_by)):
            raise NotFound("There is no such reply.", fix="Check the id of the reply (`replyId` of the message).")
        sender = self._gate.sender(call.identity, None, "")
        await self._store.write(_rate, reply, sender, rating, self._clock.now())
        self._bus.publish(Changed(ChangeTopic.CONVERSATIONS))
        return answer(OkView(ok=True))

    async def _timeline(self, call: Call) -> MessageTimeline:
        """Return the timeline if the caller may see it. A chat key may see only its own messages; for any other message
        it gets the same error as for an unknown message."""
        timeline = await self._insights.message(call.id("message"))
        if timeline is None or not (
            call.identity.role in READ or await self._gate.owns(call.identity, timeline.message.principal_id)
        ):
            raise NotFound("There is no such message.", fix="Check the messageId.")
        return timeline


@dataclass(frozen=True, slots=True)
class _Reply:
    id: str
    #: The id of the person whose message the reply answers.
    asked_by: str | None


def _reply_of(tx: Transaction, message_id: str) -> _Reply | None:
    reply = tx.messages.get(message_id)
    if reply is None or reply.role is not Role.ASSISTANT:
        return None
    asked = tx.messages.get(reply.reply_to) if reply.reply_to is not None else None
    return _Reply(reply.id, asked.principal_id if asked is not None else None)


def _rate(tx: Transaction, reply: _Reply, sender: Sender, rating: Rating | None, now: int) -> None:
    known = tx.principals.find(WEB, sender.user_id)
    person = known or tx.principals.seen(WEB, sender.user_id, sender.name or sender.user_id, sender.role, now)
    if rating is None:
        tx.reactions.unrate(reply.id, person.id)
    else:
        tx.reactions.rate(reply.id, person.id, rating, now)


def _file_of(tx: Transaction, message_id: str, number: str) -> Attachment | None:
    files = tx.files.of_message(message_id)
    if not number.isascii() or not number.isdecimal() or len(number) > len("999") or int(number) >= len(files):
        return None
    return files[int(number)]
