"""The Slack server behaves as Slack's documentation says. The tests use Slack's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.platforms.slack_server import APP_TOKEN, BOT_TOKEN, Channel, Fault, SlackServer

ROOM = "C0ROOM"
METADATA = {"event_type": "test", "event_payload": {"id": "1"}}


@asynccontextmanager
async def opened(**server: Any) -> AsyncIterator[tuple[SlackServer, AsyncWebClient, aiohttp.ClientSession]]:
    async with SlackServer(**server).serve() as running, aiohttp.ClientSession() as session:
        running.world.channels[ROOM] = Channel(ROOM)
        base = f"{running.root}/api/"
        yield running, AsyncWebClient(BOT_TOKEN, base_url=base, session=session, retry_handlers=[]), session


@asynccontextmanager
async def socket_of(
    server: SlackServer, session: aiohttp.ClientSession
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    web = AsyncWebClient(base_url=f"{server.root}/api/", session=session)
    opened = await web.apps_connections_open(app_token=APP_TOKEN)
    async with session.ws_connect(str(opened["url"])) as socket:
        assert (await socket.receive_json())["type"] == "hello"
        yield socket


async def refusal(request: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await request
    return str(caught.value.response["error"])


@pytest.mark.parametrize("read", ["history", "replies"])
async def test_metadata_is_for_those_who_ask_and_may(read: str) -> None:
    async with opened() as (server, web, _):
        posted = await web.chat_postMessage(channel=ROOM, text="hello", metadata=METADATA)

        async def metadata(**asked: Any) -> Any:
            if read == "history":
                answer = await web.conversations_history(channel=ROOM, **asked)
            else:
                answer = await web.conversations_replies(channel=ROOM, ts=posted["ts"], **asked)
            return answer["messages"][0].get("metadata")

        assert await metadata(include_all_metadata=True) == METADATA
        assert await metadata() is None
        server.world.scopes.discard("metadata.message:read")
        assert await metadata(include_all_metadata=True) is None
        server.world.scopes.discard("channels:history")
        assert await refusal(metadata(include_all_metadata=True)) == "missing_scope"


async def test_scopes_are_named_with_every_answer() -> None:
    async with opened() as (server, web, _):
        server.world.scopes = {"chat:write", "im:history"}
        assert (await web.auth_test()).headers["x-oauth-scopes"] == "chat:write,im:history"


async def test_an_update_changes_one_message_and_keeps_what_it_does_not_name() -> None:
    async with opened() as (_, web, _session):
        posted = await web.chat_postMessage(channel=ROOM, text="one", metadata=METADATA)
        for _ in range(2):
            assert (await web.chat_update(channel=ROOM, ts=posted["ts"], text="two"))["ts"] == posted["ts"]
        [message] = (await web.conversations_history(channel=ROOM, include_all_metadata=True))["messages"]
        assert (message["text"], message["metadata"]) == ("two", METADATA)
        await web.chat_delete(channel=ROOM, ts=posted["ts"])
        assert await refusal(web.chat_update(channel=ROOM, ts=posted["ts"], text="x")) == "message_not_found"
        assert await refusal(web.chat_delete(channel=ROOM, ts=posted["ts"])) == "message_not_found"


async def test_the_history_has_pages_newest_first_and_no_replies() -> None:
    async with opened() as (_, web, _session):
        stamps = [(await web.chat_postMessage(channel=ROOM, text=str(number)))["ts"] for number in range(5)]
        await web.chat_postMessage(channel=ROOM, text="reply", thread_ts=stamps[0])
        first = await web.conversations_history(channel=ROOM, limit=3)
        assert [message["text"] for message in first["messages"]] == ["4", "3", "2"]
        cursor = first["response_metadata"]["next_cursor"]
        rest = await web.conversations_history(channel=ROOM, limit=3, cursor=cursor)
        assert [message["text"] for message in rest["messages"]] == ["1", "0"]
        assert rest["messages"][1]["reply_count"] == 1
        since = await web.conversations_history(channel=ROOM, oldest=stamps[3])
        assert [message["text"] for message in since["messages"]] == ["4"]
        since = await web.conversations_history(channel=ROOM, oldest=stamps[3], inclusive=True)
        assert [message["text"] for message in since["messages"]] == ["4", "3"]
        thread = await web.conversations_replies(channel=ROOM, ts=stamps[0])
        assert [message["text"] for message in thread["messages"]] == ["0", "reply"]


async def test_errors_have_slacks_names() -> None:
    async with opened() as (server, web, _):

        async def post(channel: str = ROOM, **message: Any) -> str:
            return await refusal(web.chat_postMessage(channel=channel, **{"text": "hello", **message}))

        def markdown(text: str) -> list[dict[str, str]]:
            return [{"type": "markdown", "text": text}]

        assert await post("C0NOWHERE") == "channel_not_found"
        assert await post(text="x" * 40_001) == "msg_too_long"
        assert await post(blocks=markdown("x" * 12_001)) == "invalid_blocks"
        assert await post(blocks=markdown("x" * 6_001) * 2) == "invalid_blocks"
        assert await post(metadata={"event_type": "x"}) == "invalid_metadata_format"
        server.world.channels[ROOM].member = False
        assert await post() == "not_in_channel"
        server.world.channels[ROOM].archived = True
        assert await post() == "is_archived"
        web.token = "xoxb-another"
        assert await refusal(web.auth_test()) == "invalid_auth"
        web.token = APP_TOKEN
        assert await refusal(web.auth_test()) == "not_allowed_token_type"


async def test_a_limit_names_the_pause() -> None:
    async with opened() as (server, web, _):
        server.faults = [Fault(1, status=429, retry_after=7)]
        with pytest.raises(SlackApiError) as caught:
            await web.chat_postMessage(channel=ROOM, text="hello")
        assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "7")
        await web.chat_postMessage(channel=ROOM, text="hello")


async def test_an_envelope_comes_again_until_it_is_acknowledged() -> None:
    fast = opened(ack_seconds=0.05, retry_pauses=(0.0, 0.0, 0.0))
    async with fast as (server, _, session), socket_of(server, session) as socket:
        kept = server.emit({"type": "message"})
        first, second = [await socket.receive_json() for _ in range(2)]
        assert first["envelope_id"] == second["envelope_id"] == kept.id
        assert [one["retry_attempt"] for one in (first, second)] == [0, 1]
        assert second["retry_reason"] == "timeout"
        await socket.send_str(json.dumps({"envelope_id": kept.id}))
        await kept.acknowledged.wait()
        lost = server.emit({"type": "message"})
        attempts = [(await socket.receive_json())["retry_attempt"] for _ in range(4)]
        assert attempts == [0, 1, 2, 3]
        async with asyncio.timeout(5):
            while not server.given_up:  # noqa: ASYNC110  (there is no event for it)
                await asyncio.sleep(0.01)
        assert server.given_up == [lost]


async def test_an_address_of_a_socket_is_for_one_connection() -> None:
    async with opened() as (server, _, session):
        web = AsyncWebClient(base_url=f"{server.root}/api/", session=session)
        url = str((await web.apps_connections_open(app_token=APP_TOKEN))["url"])
        async with session.ws_connect(url) as socket:
            assert (await socket.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)
        assert await refusal(web.apps_connections_open(app_token=BOT_TOKEN)) == "not_allowed_token_type"


async def test_files_go_up_in_three_steps_and_come_down_with_the_token() -> None:
    async with opened() as (server, web, session):
        done = await web.files_upload_v2(filename="a.txt", content="hello", channel=ROOM)
        [message] = server.world.channels[ROOM].messages
        assert message["files"] == [{"id": done["file"]["id"], "name": "a.txt", "title": "a.txt"}]
        server.files["F1"] = ("text/plain", b"hello")
        url = f"{server.root}/files-pri/F1"
        async with session.get(url, headers={"Authorization": f"Bearer {BOT_TOKEN}"}) as response:
            assert await response.read() == b"hello"
        async with session.get(url) as response:
            assert (response.status, response.content_type, response.url.path) == (200, "text/html", "/login")
