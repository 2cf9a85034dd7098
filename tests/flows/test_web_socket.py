"""The socket of the web server, over a real connection."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from arvis.config.sections import Limits
from arvis.domain.events import Delta, StatusChanged, TypingRequested
from arvis.domain.messages import MessageStatus, PrincipalRole
from arvis.ports.connector import Guarantee
from arvis.ports.inbox import Inbox
from arvis.ports.store import Transaction
from arvis.web.http.limits import Timeouts
from tests.flows.web_script import a_delivery, a_part, web_address, whole
from tests.flows.web_server import (
    CHAT_KEY,
    DAEMON_KEY,
    VIEWER_KEY,
    Site,
    Socket,
    eventually,
    principal_of,
    running_site,
)

LIMITS = Limits(message_bytes=1000, attachment_bytes=1000)
ROOM = web_address("room")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, limits=LIMITS) as site:
        yield site


@contextlib.asynccontextmanager
async def stranger(site: Site) -> AsyncIterator[Socket]:
    """Open a socket that has not authenticated yet."""
    async with connect(site.url.replace("http", "ws") + "/ws") as connection:
        yield Socket(connection)


async def test_a_message_is_acknowledged_after_the_commit(site: Site) -> None:
    async with site.socket(channelId="room", userId="bob", userName="Bob") as socket:
        assert socket.greeting["clientId"]
        assert socket.greeting["seq"] == 0
        await socket.send(type="message", content="hello", id="x1")
        assert await socket.until("ack") == {"type": "ack", "messageId": "m1", "id": "x1"}
        await socket.send(type="message", content="again", id="x1")
        assert await socket.until("ack") == {"type": "ack", "messageId": "m1", "id": "x1"}
    (message,) = site.inbox.received
    assert (message.address, message.content, message.event_id) == (ROOM, "hello", "x1")
    assert (message.sender.user_id, message.sender.name, message.sender.role) == ("bob", "Bob", PrincipalRole.MEMBER)


async def test_the_channel_is_the_users_own_when_none_is_named(site: Site) -> None:
    async with site.socket() as socket:
        await socket.send(type="message", content="hello")
        ack = await socket.until("ack")
    assert site.inbox.received[0].address == web_address("web-owner")
    assert ack["id"] == site.inbox.received[0].event_id


async def test_a_wrong_key_is_told_and_hung_up_on(site: Site) -> None:
    for key in ("wrong", "", "undefined", None):
        async with stranger(site) as socket:
            await socket.send(type="auth", apiKey=key, channelId="room")
            error = await socket.receive()
            assert error["type"] == "error"
            assert set(error["error"]) == {"code", "message", "fix"}
            assert await socket.close_code() == 4001


async def test_nothing_works_before_the_greeting(site: Site) -> None:
    async with stranger(site) as socket:
        for frame in ("{", "[]", '{"type": "message", "content": "x"}', '{"type": 7}', '{"type": "ping"}'):
            await socket.connection.send(frame)
            assert (await socket.receive())["type"] == "error"
        await socket.send(type="auth", apiKey=DAEMON_KEY)
        assert (await socket.receive())["type"] == "auth_ok"
    assert not site.inbox.received


async def test_the_login_is_enough(site: Site) -> None:
    cookie = await site.log_in()
    async with connect(
        site.url.replace("http", "ws") + "/ws",
        origin=site.url,  # type: ignore[arg-type]
        additional_headers={"Cookie": f"arvis_session={cookie}"},
    ) as connection:
        socket = Socket(connection)
        await socket.send(type="auth", channelId="room", userId="mallory")
        assert (await socket.receive())["type"] == "auth_ok"
        await socket.send(type="message", content="hello")
        await socket.until("ack")
    assert site.inbox.received[0].sender.user_id == "owner"


async def test_a_chat_key_hears_its_own_channel_only(site: Site) -> None:
    async with stranger(site) as socket:
        await socket.send(type="auth", apiKey=CHAT_KEY, channelId="room")
        assert (await socket.receive())["error"]["code"] == "not_your_channel"
        assert await socket.close_code() == 4001
    async with site.socket(apiKey=CHAT_KEY, channelId="dashboard-agent-helper") as socket:
        await socket.send(type="message", content="hi")
        await socket.until("ack")
        thread = site.inbox.received[0].address.thread
        assert thread.startswith("key-")
        await site.connector.send(a_part(1, web_address("dashboard-agent-helper"), content="not yours"))
        mine = a_delivery(2, web_address("dashboard-agent-helper", thread), content="yours")
        site.insights.deliveries[mine.address] = [mine]
        await site.connector.send(whole(mine))
        assert (await socket.until("message"))["content"] == "yours"


async def test_a_viewer_cannot_send(site: Site) -> None:
    async with site.socket(apiKey=VIEWER_KEY) as socket:
        for frame in ({"type": "message", "content": "x"}, {"type": "stop"}, {"type": "click", "buttonId": "b"}):
            await socket.send(**frame)
            assert (await socket.until("error"))["error"]["code"] == "role"
    assert not site.inbox.received
    assert not site.inbox.stops


async def test_everything_of_a_channel_is_pushed(site: Site) -> None:
    async with site.socket(channelId="room") as socket, site.socket(channelId="other") as other:
        site.bus.publish(TypingRequested(ROOM))
        site.bus.publish(Delta(ROOM, "m1", 0, "Hel"))
        await socket.until("typing")
        assert await socket.until("delta") == {"type": "delta", "messageId": "m1", "offset": 0, "text": "Hel"}
        site.bus.publish(StatusChanged(ROOM, "m1", MessageStatus.FAILED, "poison"))
        assert await socket.receive() == {"type": "status", "messageId": "m1", "status": "failed", "reason": "poison"}
        receipt = await site.connector.send(a_part(1, ROOM))
        assert receipt.platform_id == "d1"
        assert await socket.receive() == {
            "type": "message", "channelId": "room", "content": "answer 1", "messageId": "reply1", "replyTo": "m1",
            "answers": ["m0", "m1"], "part": 0, "seq": 1, "buttons": [], "files": [], "agent": "helper",
            "timestamp": 1_700_000_000_000,
        }  # fmt: skip
        await other.send(type="ping")
        assert await other.receive() == {"type": "pong"}


async def test_a_delivery_nobody_hears_is_sent(site: Site) -> None:
    assert (await site.connector.send(a_part(1, ROOM))).platform_id == "d1"


async def test_what_was_missed_is_replayed_once_and_in_order(site: Site) -> None:
    site.insights.deliveries[ROOM] = [a_delivery(seq, ROOM) for seq in range(1, 251)]
    async with site.socket(channelId="room", lastSeq=40) as socket:
        assert socket.greeting["seq"] == 250
        assert [(await socket.until("message"))["seq"] for _ in range(210)] == list(range(41, 251))
        await site.connector.send(a_part(250, ROOM))
        await site.connector.send(a_part(251, ROOM))
        assert (await socket.until("message"))["seq"] == 251


async def test_what_arrives_during_a_replay_is_not_lost_and_not_doubled(site: Site) -> None:
    site.insights.deliveries[ROOM] = [a_delivery(seq, ROOM) for seq in (1, 2)]
    site.insights.during_replay = asyncio.Event()
    async with site.socket(channelId="room", lastSeq=0) as socket:
        await site.insights.replaying.wait()
        for seq in (2, 3):
            site.insights.deliveries[ROOM].append(a_delivery(seq, ROOM))
            await site.connector.send(a_part(seq, ROOM))
        site.insights.during_replay.set()
        await site.connector.send(a_part(4, ROOM))
        assert [(await socket.until("message"))["seq"] for _ in range(4)] == [1, 2, 3, 4]


async def test_the_past_is_not_replayed_unasked(site: Site) -> None:
    site.insights.deliveries[ROOM] = [a_delivery(1, ROOM)]
    async with site.socket(channelId="room") as socket:
        assert socket.greeting["seq"] == 1
        await site.connector.send(a_part(2, ROOM))
        assert (await socket.receive())["seq"] == 2


async def test_a_client_ahead_of_a_restored_database_hears_new_answers(site: Site) -> None:
    site.insights.deliveries[ROOM] = [a_delivery(1, ROOM)]
    async with site.socket(channelId="room", lastSeq=90) as socket:
        assert socket.greeting["seq"] == 1
        await site.connector.send(a_part(2, ROOM))
        assert (await socket.receive())["seq"] == 2


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid"),
        ("[1]", "invalid"),
        ('{"type": "dance"}', "unprocessable"),
        ("{}", "unprocessable"),
        ('{"type": "message", "content": 1, "id": "x"}', "unprocessable"),
        ('{"type": "message", "content": ""}', "empty"),
        (json.dumps({"type": "message", "content": "x" * 1001}), "message_too_large"),
        ('{"type": "message", "content": "x", "attachments": [7]}', "unprocessable"),
        ('{"type": "click"}', "unprocessable"),
        ('{"type": "speech", "chunkId": "1", "text": "hi", "complete": "yes"}', "unprocessable"),
        (json.dumps({"type": "auth", "apiKey": DAEMON_KEY}), "already_authenticated"),
        (b"binary", "invalid"),
    ],
)
async def test_a_wrong_frame_is_told_and_the_connection_stays(site: Site, frame: str | bytes, code: str) -> None:
    async with site.socket(channelId="room") as socket:
        await socket.connection.send(frame)
        error = await socket.receive()
        assert (error["type"], error["error"]["code"]) == ("error", code)
        await socket.send(type="ping")
        assert await socket.receive() == {"type": "pong"}


@pytest.mark.parametrize("last_seq", [-1, 1.5, "7", True, 2**60])
async def test_a_wrong_last_seq_is_told(site: Site, last_seq: Any) -> None:
    async with stranger(site) as socket:
        await socket.send(type="auth", apiKey=DAEMON_KEY, lastSeq=last_seq)
        assert (await socket.receive())["error"]["code"] == "unprocessable"


async def test_a_refused_message_names_the_frame(site: Site) -> None:
    site.inbox.refusals["room"] = "blocked"
    async with site.socket(channelId="room") as socket:
        await socket.send(type="message", content="x", id="mine")
        error = await socket.receive()
        assert (error["error"]["code"], error["id"]) == ("blocked", "mine")


async def test_what_goes_wrong_inside_is_not_shown(site: Site) -> None:
    site.inbox.broken = True
    async with site.socket(channelId="room") as socket:
        await socket.send(type="message", content="x")
        error = await socket.receive()
        assert error["error"]["code"] == "internal"
        assert "swordfish" not in str(error)


async def test_a_frame_over_the_hard_limit_ends_the_connection(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        with contextlib.suppress(ConnectionClosed):
            await socket.connection.send("x" * 200_000)
        assert await socket.close_code() == 1009


async def test_stop_ends_the_turns_of_the_channel(site: Site) -> None:
    async with site.socket(channelId="room", userId="bob") as socket:
        await socket.send(type="stop")
        assert await socket.receive() == {"type": "stopped", "turns": 1}
    bob = await site.store.read(principal_of, "bob")
    assert bob is not None
    assert site.inbox.stops == [(ROOM, bob.id)]


@pytest.mark.parametrize(
    ("data", "content"),
    [({}, "[Button clicked: yes]"), ({"data": {"n": 1}}, '[Button clicked: yes] {"n": 1}')],
)
async def test_a_click_is_a_message(site: Site, data: dict[str, Any], content: str) -> None:
    async with site.socket(channelId="room") as socket:
        await socket.send(type="click", buttonId="yes", **data)
        await socket.until("ack")
    assert site.inbox.received[0].content == content


async def flood(site: Site, quick: Socket) -> None:
    """Send more than the socket and the server buffer for a client that does not read; another client of the channel
    reads everything."""
    for seq in range(1, 121):
        await site.connector.send(a_part(seq, ROOM, content="x" * 200_000))
        assert (await quick.until("message"))["seq"] == seq


async def drained(slow: Socket) -> int | None:
    slow.connection.transport.resume_reading()
    with contextlib.suppress(ConnectionClosed):
        while True:
            await slow.receive()
    return await slow.close_code()


async def test_a_client_that_falls_behind_is_sent_away(site: Site) -> None:
    async with site.socket(channelId="room") as quick, site.socket(channelId="room") as slow:
        slow.connection.transport.pause_reading()
        await flood(site, quick)
        assert await drained(slow) == 1013
        await quick.send(type="ping")
        assert await quick.receive() == {"type": "pong"}


async def test_a_client_that_takes_nothing_is_given_up(tmp_path: Path) -> None:
    async with (
        running_site(tmp_path, patience=Timeouts(sending=0.2, closing=1)) as site,
        site.socket(channelId="room") as quick,
        site.socket(channelId="room") as slow,
    ):
        slow.connection.transport.pause_reading()
        await flood(site, quick)
        await eventually(lambda: site.connector.sockets == 1)
        before = len(site.server._uvicorn.server_state.connections)
        await eventually(lambda: len(site.server._uvicorn.server_state.connections) < before)
        assert await drained(slow) == 1006


async def test_a_vanished_client_leaves_no_trace(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        assert site.connector.sockets == 1
        socket.connection.transport.abort()
        await eventually(lambda: site.connector.sockets == 0)


async def test_logging_out_closes_the_sockets_of_that_login(site: Site) -> None:
    cookies = [{"Cookie": f"arvis_session={await site.log_in()}", "X-Arvis-Request": "1"} for _ in range(2)]
    async with (
        site.socket(apiKey=None, headers=cookies[0]) as mine,
        site.socket(apiKey=None, headers=cookies[1]) as other,
    ):
        headers = {**cookies[0], "Origin": site.url}
        assert (await site.call("POST", "/api/auth/logout", key=None, headers=headers)).status == 200
        assert await asyncio.wait_for(mine.close_code(), 1) == 4001
        await other.send(type="ping")
        assert await other.receive() == {"type": "pong"}


async def test_a_login_that_ends_before_the_greeting_opens_nothing(site: Site) -> None:
    cookie = {"Cookie": f"arvis_session={await site.log_in()}", "X-Arvis-Request": "1"}
    async with connect(site.url.replace("http", "ws") + "/ws", additional_headers=cookie) as connection:
        headers = {**cookie, "Origin": site.url}
        assert (await site.call("POST", "/api/auth/logout", key=None, headers=headers)).status == 200
        socket = Socket(connection)
        await socket.send(type="auth", channelId="room")
        assert await asyncio.wait_for(socket.close_code(), 1) == 4001


async def test_a_login_ended_elsewhere_ends_its_socket(tmp_path: Path) -> None:
    async with running_site(tmp_path, patience=Timeouts(renewal=0.05)) as site:
        cookie = {"Cookie": f"arvis_session={await site.log_in()}", "X-Arvis-Request": "1"}
        async with site.socket(apiKey=None, headers=cookie) as socket:
            site.clock.shift_ms = 31 * 24 * 3_600_000
            assert await socket.close_code() == 4001


async def test_an_open_socket_keeps_its_login_alive(tmp_path: Path) -> None:
    async with running_site(tmp_path, patience=Timeouts(renewal=0.02)) as site:
        cookie = await site.log_in()
        headers = {"Cookie": f"arvis_session={cookie}", "X-Arvis-Request": "1"}
        async with site.socket(apiKey=None, headers=headers) as socket:
            for _ in range(3):
                site.clock.shift_ms += 11 * 3_600_000
                await touched(site, cookie)
            await socket.send(type="ping")
            assert await socket.receive() == {"type": "pong"}
        assert (await site.call("GET", "/api/auth/me", key=None, headers=headers)).status == 200


async def touched(site: Site, cookie: str) -> None:
    """Wait until the use of a login is in the database."""

    def seen(tx: Transaction) -> int:
        session = tx.logins.session(hashlib.sha256(cookie.encode()).hexdigest())
        assert session is not None
        return session.seen_at

    async with asyncio.timeout(5):
        while site.clock.now() - await site.store.read(seen) > 60_000:  # noqa: ASYNC110 - a row has no event
            await asyncio.sleep(0.01)


async def test_whoever_says_nothing_is_hung_up_on(tmp_path: Path) -> None:
    async with running_site(tmp_path, patience=Timeouts(greeting=0.05)) as site, stranger(site) as socket:
        assert await socket.close_code() == 4001


async def test_stopping_closes_sockets_with_1012_and_leaves_no_task(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with running_site(tmp_path, limits=LIMITS) as site:
            socket = await stack.enter_async_context(site.socket(channelId="room"))
        assert await socket.close_code() == 1012
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
    assert not [name for name in names if "SocketRoute" in name or "attempt" in name]


async def test_the_connector_keeps_its_port(site: Site) -> None:
    connector = site.connector
    assert (connector.platform, connector.name) == ("web", "web")
    assert (connector.capabilities.guarantee, connector.capabilities.whole) == (Guarantee.IDEMPOTENT, True)
    inbox: Inbox = site.inbox
    running = asyncio.create_task(connector.run(inbox, lambda _: None))
    await asyncio.sleep(0)
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
