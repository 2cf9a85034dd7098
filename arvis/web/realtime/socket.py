"""The WebSocket: a client authenticates, sends messages, and receives the messages of its channel.

An invalid frame is answered with an error, and the connection stays open. Reading and writing are separate tasks, so
that a client that does not read is detected and delays no other client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Invalid, Unauthorised, Unprocessable
from arvis.ports.inbox import Inbox
from arvis.ports.insights import Insights
from arvis.web.api.message_input import ClickedButton, Draft, MessageParser, NewMessage
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.failed_logins import address_of
from arvis.web.auth.open_access import OpenAccess
from arvis.web.http.errors import AWAY, Failure, attempt
from arvis.web.http.frames import delivery_frame
from arvis.web.http.identity import ANYONE, READ, SEND, Identity, Role, address_for
from arvis.web.http.limits import SMALL, BodyLimit, Timeouts
from arvis.web.http.requests import Fields, display_name, parse_fields, unusable
from arvis.web.realtime.connector import (
    BROKEN,
    GOING_AWAY,
    NO_ACCESS,
    TRY_LATER,
    Client,
    Frame,
    HangUp,
    Replay,
    WebConnector,
    frame,
)
from arvis.web.realtime.speech import SpeechBuffers
from arvis.web.realtime.subscriptions import Subscriptions

# The first frame of a socket. It names the user, the channel, and the last delivery that the client has received.


@dataclass(frozen=True, slots=True)
class Greeting:
    """The content of the first frame."""

    client: Client
    #: The number of the last delivery that the client has received; None: the client requests no earlier deliveries.
    last_seq: int | None


class Handshake:
    """The authentication of sockets. `new_token` creates the ids of clients."""

    def __init__(self, *, gate: Authorizer, new_token: Callable[[], str]) -> None:
        self._gate = gate
        self._new_token = new_token

    async def greet(self, fields: Fields, at_upgrade: Identity, address: str) -> Greeting:
        """Authenticate the socket. A key in the frame takes precedence over the cookie or key of the upgrade request
        (`at_upgrade`). Raise an `ArvisError` if the key, the channel or a field is refused."""
        key = fields.text("apiKey")
        identity = at_upgrade if key is None else await self._gate.by_key(key, address)
        self._gate.admit(identity, ANYONE)
        sender = self._gate.sender(identity, fields.label("userId"), display_name(fields.text("userName")))
        place = address_for(identity, fields.label("channelId") or f"web-{sender.user_id}")
        client = Client(id=self._new_token(), identity=identity, sender=sender, address=place)
        return Greeting(client, fields.whole("lastSeq"))


#: The maximum number of deliveries in one database read. A delivery can be as large as `limits.reply_bytes`, and all
#: deliveries of a read stay in memory until the client has accepted them.
_SLICE = 16

#: The maximum number of waiting frames that are sent in one pass of the event loop.
_AT_ONCE = 64

#: The maximum number of topics in one frame.
_MOST_TOPICS = 50

_NOT_LOGGED_IN = Failure(401, "no_credential", "You are not logged in.", "Log in, then open the socket again.")

_Handler = Callable[[Client, Fields], Awaitable[None]]


class SocketRoute:
    """The handler of `/ws`."""

    def __init__(
        self,
        *,
        gate: Authorizer,
        greeter: Handshake,
        parser: MessageParser,
        inbox: Inbox,
        insights: Insights,
        connector: WebConnector,
        timeouts: Timeouts,
        listening: SpeechBuffers,
        watching: Subscriptions,
        access: OpenAccess,
    ) -> None:
        self._gate = gate
        self._greeter = greeter
        self._parser = parser
        self._inbox = inbox
        self._insights = insights
        self._connector = connector
        self._timeouts = timeouts
        self._listening = listening
        self._watching = watching
        self._access = access
        self._handlers: Mapping[str, _Handler] = {
            "message": self._message,
            "click": self._click,
            "stop": self._stop,
            "ping": self._ping,
            "speech": self._speech,
            "watch": self._watch,
            "unwatch": self._unwatch,
            "auth": self._auth_again,
        }

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection from its upgrade to its end. An invalid cookie or key is refused before the upgrade."""
        identity = await attempt(self._gate.identify(socket))
        if isinstance(identity, Failure):
            await identity.to_response()(socket.scope, socket.receive, socket.send)
            return
        if identity.role is Role.ANONYMOUS and "origin" in socket.headers:
            # The dashboard in a browser authenticates only by its cookie. Without a cookie, its user is not logged in.
            await _NOT_LOGGED_IN.to_response()(socket.scope, socket.receive, socket.send)
            return
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            greeting = await self._greet(socket, lambda fields: self._welcome(fields, identity, address_of(socket)))
            if greeting is not None:
                socket.state.take_large_frames()
                await self._converse(socket, greeting)

    async def _welcome(self, fields: Fields, at_upgrade: Identity, address: str) -> Greeting:
        greeting = await self._greeter.greet(fields, at_upgrade, address)
        self._connector.check_room(greeting.client.address)
        return greeting

    async def _greet(self, socket: WebSocket, greet: Callable[[Fields], Awaitable[Greeting]]) -> Greeting | None:
        """Return the first valid greeting. Close the socket and return None if access is refused, the database is not
        available, or no valid greeting arrives in time."""
        try:
            async with asyncio.timeout(self._timeouts.greeting):
                while True:
                    found = await attempt(_first_frame(await _receive(socket), greet))
                    if isinstance(found, Greeting):
                        return found
                    await socket.send_text(_error(found).text)
                    if found.status == AWAY.status:
                        await socket.close(TRY_LATER, "try again later")
                        return None
                    if found.status in {401, 403, 429} and found.code != "no_greeting":
                        break
        except TimeoutError:
            pass
        await socket.close(NO_ACCESS, "no access")
        return None

    async def _converse(self, socket: WebSocket, greeting: Greeting) -> None:
        """Read and write until the reader or the writer ends, and check the credential regularly. The writer is ended by
        a signal and never cancelled, because it may be in the middle of a database read."""
        client = greeting.client
        self._connector.join(client)
        reader = asyncio.create_task(attempt(_until_gone(self._read(socket, client))))
        renewer = asyncio.create_task(attempt(self._renew_regularly(client)))
        writer = asyncio.create_task(attempt(_until_gone(self._write(socket, greeting))))
        try:
            with self._access.held(client.identity, lambda: client.hang_up(NO_ACCESS, "logged out")):
                await asyncio.wait({reader, writer, renewer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._connector.leave(client)
            self._watching.unwatch(client)
            client.hang_up(*_ending(renewer if renewer.done() else reader))
            reader.cancel()
            renewer.cancel()
            await asyncio.gather(reader, writer, renewer, return_exceptions=True)
            await self._close_after(socket, writer)
            await self._listening.leave(client)

    async def _close_after(self, socket: WebSocket, writer: asyncio.Task[Failure | None]) -> None:
        """Close the socket if the writer failed, because a failed writer has sent no close frame."""
        if writer.cancelled() or not isinstance(writer.result(), Failure):
            return
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):  # RuntimeError: already closed
            async with asyncio.timeout(self._timeouts.sending):
                await socket.close(*_ending(writer))

    async def _write(self, socket: WebSocket, greeting: Greeting) -> None:
        """Confirm the authentication, replay missed deliveries, then send new frames. The client joins its channel
        before the first database read, so no delivery is lost between the replay and the new frames. Duplicates are
        recognised by their `seq`."""
        client, send_now = greeting.client, socket.state.send_now
        last = await self._insights.last_seq(client.address)
        await self._send(socket, frame({"type": "auth_ok", "clientId": client.id, "seq": last}))
        # Without `lastSeq` the client gets no earlier deliveries. After a restored backup, `lastSeq` can be greater
        # than every number in the database.
        client.seen = last if greeting.last_seq is None else min(greeting.last_seq, last)
        await self._replay(socket, client)
        while True:
            item: Frame | Replay | HangUp | None = await client.next()
            sent = 0
            while isinstance(item, Frame) and sent < _AT_ONCE and send_now(item.text):
                sent += 1
                item = client.take()
            match item:
                case Frame():
                    await self._send(socket, item)
                case Replay():
                    await self._replay(socket, client)
                case HangUp(code, reason):
                    async with asyncio.timeout(self._timeouts.sending):
                        await socket.close(code, reason)
                    return

    async def _replay(self, socket: WebSocket, client: Client) -> None:
        """Send all deliveries after `client.seen`, regardless of their state. Deliveries are numbered across all
        threads of a channel. A delivery for another thread is not sent, but `seen` is still set to its number."""
        while not client.ended and (
            missed := await self._insights.deliveries_after(client.address, client.seen, _SLICE)
        ):
            for delivery in missed:
                item = frame(delivery_frame(delivery), delivery.seq)
                if client.accepts(item) and delivery.address == client.address:
                    await self._send(socket, item)

    async def _send(self, socket: WebSocket, item: Frame) -> None:
        """Send a frame, and let other tasks run. Raise `TimeoutError` if the client does not accept the frame in time;
        the connection is then dropped."""
        async with asyncio.timeout(self._timeouts.sending):
            await socket.send_text(item.text)
            await asyncio.sleep(0)

    async def _read(self, socket: WebSocket, client: Client) -> None:
        """Read and handle frames. First check the credential again, because it may have ended before this socket was
        registered in `OpenAccess`."""
        await self._renew(client)
        while True:
            await self._take(client, await _receive(socket))

    async def _renew_regularly(self, client: Client) -> None:
        while True:
            await asyncio.sleep(self._timeouts.renewal)
            await self._renew(client)

    async def _take(self, client: Client, text: str | None) -> None:
        """Handle one frame. If this fails, send the error to the client."""
        fields = await attempt(_fields(text, self._parser.body_limit))
        done = fields if isinstance(fields, Failure) else await attempt(self._handle(client, fields))
        if isinstance(done, Failure):
            client.push(_error(done, None if isinstance(fields, Failure) else fields.raw("id")))

    async def _renew(self, client: Client) -> None:
        """Record that the login is in use. Close the socket if its login or key has ended, in this or another
        process."""
        if (identity := await self._gate.renew(client.identity)) is None:
            client.hang_up(NO_ACCESS, "logged out")
        else:
            self._watching.recognise(client, identity)

    async def _handle(self, client: Client, fields: Fields) -> None:
        handler = self._handlers.get(fields.required_text("type"))
        if handler is None:
            raise Unprocessable(
                "This type of frame is unknown.", fix="The known types are " + ", ".join(self._handlers) + "."
            )
        await handler(client, fields)

    async def _message(self, client: Client, fields: Fields) -> None:
        self._gate.admit(client.identity, SEND)
        await self._deliver(client, await self._parser.draft(NewMessage.read(fields.values, lenient=True)))

    async def _click(self, client: Client, fields: Fields) -> None:
        """Handle a click. A button of Arvis itself answers a question or cancels a turn. A click on any other button
        becomes a message to the agent."""
        self._gate.admit(client.identity, SEND)
        button = ClickedButton.read(fields.values, lenient=True)
        if (click := self._parser.answer(button, client.address, client.sender)) is None:
            await self._deliver(client, self._parser.click(button))
            return
        clicked = await self._inbox.click(click)
        payload = {"type": "clicked", "buttonId": click.data, "text": clicked.text, "done": clicked.done}
        client.push(frame(payload))

    async def _deliver(self, client: Client, draft: Draft) -> None:
        sent = await self._parser.send(draft, client.address, client.sender)
        client.push(frame({"type": "ack", "messageId": sent.message_id, "id": sent.event_id}))

    async def _stop(self, client: Client, _: Fields) -> None:
        self._gate.admit(client.identity, SEND)
        principal = await self._gate.principal(client.sender)
        client.push(frame({"type": "stopped", "turns": await self._inbox.stop(client.address, principal.id)}))

    async def _ping(self, client: Client, _: Fields) -> None:
        client.push(frame({"type": "pong"}))

    async def _speech(self, client: Client, fields: Fields) -> None:
        self._gate.admit(client.identity, SEND)
        await self._listening.hear(client, fields)

    async def _watch(self, client: Client, fields: Fields) -> None:
        """Add topics to those that the client watches."""
        self._gate.admit(client.identity, READ)
        watched = await self._watching.watch(client, _topics(fields))
        client.push(frame({"type": "watching", "topics": watched}))

    async def _unwatch(self, client: Client, fields: Fields) -> None:
        """Stop watching these topics. Without `topics`, stop watching all."""
        watched = self._watching.unwatch(client, _topics(fields) if fields.has("topics") else None)
        client.push(frame({"type": "watching", "topics": watched}))

    async def _auth_again(self, _: Client, __: Fields) -> None:
        raise Invalid("This socket is authenticated already.", fix="Open another socket.", code="already_authenticated")


def _ending(task: asyncio.Task[Failure | None]) -> tuple[int, str]:
    """Return the code and the reason with which the socket is closed after the end of this task."""
    failure = task.result() if task.done() and not task.cancelled() else None
    match failure:
        case Failure(status=AWAY.status):
            return TRY_LATER, "try again later"
        case Failure():
            return BROKEN, "internal error"
    return GOING_AWAY, "the connection ended"


def _topics(fields: Fields) -> list[str]:
    topics = fields.texts("topics")
    if not topics or len(topics) > _MOST_TOPICS:
        raise unusable("topics", f"must be a list of 1 to {_MOST_TOPICS} topics")
    return topics


async def _until_gone(work: Awaitable[None]) -> None:
    """Run `work`. Return without an error if the client disconnects, or reads nothing for too long."""
    with contextlib.suppress(WebSocketDisconnect, TimeoutError):
        await work


async def _first_frame(text: str | None, greet: Callable[[Fields], Awaitable[Greeting]]) -> Greeting:
    fields = await _fields(text, SMALL)
    if fields.required_text("type") != "auth":
        raise Unauthorised("Authenticate first.", fix='Send {"type": "auth", …}.', code="no_greeting")
    return await greet(fields)


async def _receive(socket: WebSocket) -> str | None:
    """Return the text of the next frame, or None for a binary frame. Raise `WebSocketDisconnect` if the connection has
    ended."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    text = message.get("text")
    return text if isinstance(text, str) else None


async def _fields(text: str | None, limit: BodyLimit) -> Fields:
    if text is None:
        raise Invalid("Binary frames are not supported.", fix="Send JSON as text.")
    return await parse_fields(text, limit)


def _error(failure: Failure, id: Any = None) -> Frame:  # noqa: A002 - the field's name
    """Return the frame of an error. `id` is the id of the frame that failed."""
    known = {"id": id} if isinstance(id, str) else {}
    return frame({"type": "error", **failure.to_json(), **known})
