"""Limits for strangers and clients: memory, connections and time.

Each case blocked or inflated an earlier build.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from arvis.domain.messages import MessageStatus, Role, StoredMessage
from arvis.web.http.limits import Timeouts
from arvis.web.uvicorn_server import UvicornServer
from tests.flows.web_script import NOW, web_address
from tests.flows.web_server import CHAT_KEY, Site, running_site

JSON = {"Content-Type": "application/json"}
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, patience=Timeouts(idle=1)) as site:
        yield site


@pytest.mark.parametrize("shape", ["[%s]", '{"content": "x", "more": [%s]}'])
async def test_json_that_swells_is_refused(site: Site, shape: str) -> None:
    """A list of empty objects takes 24 times its own size."""
    body = shape % ",".join(["{}"] * 400_000)
    answer = await site.call("POST", "/api/messages", key=CHAT_KEY, data=io.BytesIO(body.encode()), headers=JSON)
    assert answer.status == 413
    async with site.socket(apiKey=CHAT_KEY) as socket:
        await socket.connection.send(body)
        assert (await socket.until("error"))["error"]["code"] == "too_large"
    assert not site.inbox.received


async def test_a_message_may_be_all_commas(site: Site) -> None:
    answer = await site.call("POST", "/api/messages", json={"content": "," * 262_144})
    assert answer.status == 202


@pytest.mark.parametrize("body", [b'{"content": "x", "more": 1e999}', '{"content": "x"}'.encode("utf-16")])
async def test_numbers_and_encodings_that_json_does_not_know_are_refused(site: Site, body: bytes) -> None:
    """An infinity in an answer would break every list that shows the question."""
    assert (await site.call("POST", "/api/messages", data=body, headers=JSON)).status == 400


async def test_a_stranger_s_frame_is_small_and_a_client_s_is_not(site: Site) -> None:
    async with connect(site.url.replace("http", "ws") + "/ws") as stranger:
        with contextlib.suppress(ConnectionClosed):
            await stranger.send("x" * 70_000)
        await stranger.wait_closed()
        assert stranger.close_code == 1009
    async with site.socket(apiKey=CHAT_KEY) as socket:
        await socket.send(type="message", content="x" * 100_000)
        assert await socket.until("ack")


async def test_a_quoted_cookie_is_no_login(site: Site) -> None:
    """Removing the quotes of a hostile cookie took the library seconds."""
    token = await site.log_in()
    for cookie, status in ((f"arvis_session={token}", 200), (f'arvis_session="{token}"', 401)):
        assert (await site.call("GET", "/api/auth/me", key=None, headers={"Cookie": cookie})).status == status


async def test_a_channel_takes_a_hundred_sockets(site: Site) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(100):
            await stack.enter_async_context(site.socket(apiKey=CHAT_KEY))
        async with connect(site.url.replace("http", "ws") + "/ws") as another:
            await another.send(f'{{"type": "auth", "apiKey": "{CHAT_KEY}"}}')
            assert "too_many" in str(await another.recv())
            await another.wait_closed()
        await stack.enter_async_context(site.socket(apiKey=CHAT_KEY, channelId="dashboard-agent-helper"))


@pytest.mark.parametrize(
    "start", [b"", b"GET /health HTTP/1.1\r\nHo", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nG"]
)
async def test_a_connection_without_a_request_is_given_up(site: Site, start: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    writer.write(start)
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(10):
            while await reader.read(65_536):
                pass
    writer.close()


async def test_a_page_of_long_messages_is_short(site: Site) -> None:
    site.insights.stored = [
        StoredMessage(
            id=f"m{number}", conversation_id="c1", role=Role.USER, content="x" * 400_000, tokens=1,
            status=MessageStatus.ANSWERED, address=web_address("room"), principal_id="p1", user_name="Bob",
            agent_id="agent1", execution_id="e1", turn=1, created_at=NOW,
        )
        for number in range(5)
    ]  # fmt: skip
    page = (await site.call("GET", "/api/conversations/c1/messages")).json()
    assert [item["id"] for item in page["items"]] == ["m0", "m1"]
    assert page["nextCursor"] == "m1"


@pytest.mark.parametrize("kind", ["no response", "half a response", "socket"])
async def test_a_request_that_outlasts_the_stop_is_one_line_in_the_log(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        elif kind == "half a response":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        begun.set()
        await asyncio.Event().wait()

    listener = socket.create_server(("127.0.0.1", 0))
    server = UvicornServer(endless, max_frame=1024, grace=0, idle=60)
    serving = await server.begin(listener)
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(UPGRADE if kind == "socket" else b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await begun.wait()
    with capture_logs() as lines:
        server.stop()
        async with asyncio.timeout(10):
            await serving
            with contextlib.suppress(ConnectionError):
                await reader.read()
    assert not server.server_state.tasks
    writer.close()
    assert [(line["event"], line["number"]) for line in lines] == [("requests_aborted", 1)]
    assert caplog.records == []
