"""The loopback Discord server behaves as Discord's documentation says. The tests use no client library."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.platforms.discord_server import DiscordServer, discord_server

_ALL = 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15


class Caller:
    """A client that has the bot's token."""

    def __init__(self, server: DiscordServer, http: aiohttp.ClientSession) -> None:
        self.server = server
        self.http = http
        self.room = server.world.channel("room")["id"]

    async def ask(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bot {self.server.token}"}
        url = self.server.api_url + path
        async with self.http.request(method, url, json=body, headers=headers, **options) as response:
            text = await response.text()
            assert not text or response.headers["Content-Type"] == "application/json"
            return response.status, json.loads(text or "null")

    async def post(self, **body: Any) -> tuple[int, Any]:
        return await self.ask("POST", f"/channels/{self.room}/messages", body)

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        async with self.http.ws_connect(self.server.gateway_url) as socket:
            assert (await socket.receive_json())["op"] == 10
            yield socket

    async def identified(self, socket: aiohttp.ClientWebSocketResponse, intents: int = _ALL) -> str:
        await socket.send_json({"op": 2, "d": {"token": self.server.token, "intents": intents, "properties": {}}})
        ready, guild = [await socket.receive_json() for _ in range(2)]
        assert (ready["t"], guild["t"]) == ("READY", "GUILD_CREATE")
        assert ready["d"]["resume_gateway_url"] == self.server.gateway_url
        return str(ready["d"]["session_id"])


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    async with discord_server() as server, aiohttp.ClientSession() as http:
        yield Caller(server, http)


async def test_a_nonce_inside_the_window_gives_the_first_message_and_after_it_a_new_one(caller: Caller) -> None:
    _, first = await caller.post(content="one", nonce="n", enforce_nonce=True)
    _, again = await caller.post(content="two", nonce="n", enforce_nonce=True)
    assert (again["id"], again["content"]) == (first["id"], "one")
    _, free = await caller.post(content="three", nonce="n")
    assert free["id"] != first["id"]
    caller.server.world.nonce_window = 0
    _, later = await caller.post(content="four", nonce="n", enforce_nonce=True)
    assert later["content"] == "four"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"content": "x" * 2000}, 200, None),
        ({"content": "x" * 2001}, 400, 50035),
        ({"content": "😀" * 1001}, 400, 50035),
        ({"content": " "}, 400, 50006),
        ({"content": "x", "nonce": "n" * 26}, 400, 50035),
        ({"content": "x", "message_reference": {"message_id": "1"}}, 400, 50035),
        ({"content": "x", "message_reference": {"message_id": "1", "fail_if_not_exists": False}}, 200, None),
        ({"content": "x", "components": [{"type": 1, "components": []}]}, 400, 50035),
    ],
)
async def test_what_a_message_may_be(caller: Caller, body: dict[str, Any], status: int, code: int | None) -> None:
    answered, said = await caller.post(**body)
    assert (answered, said.get("code")) == (status, code)


async def test_history_is_newest_first_and_in_pages(caller: Caller) -> None:
    made = [(await caller.post(content=str(number), nonce="x"))[1]["id"] for number in range(5)]
    path = f"/channels/{caller.room}/messages"
    _, behind = await caller.ask("GET", path, params={"after": made[1], "limit": "2"})
    assert [message["id"] for message in behind] == [made[3], made[2]]
    _, before = await caller.ask("GET", path, params={"before": made[3], "limit": "2"})
    assert [message["id"] for message in before] == [made[2], made[1]]
    _, around = await caller.ask("GET", path, params={"around": made[2], "limit": "3"})
    assert [message["id"] for message in around] == [made[3], made[2], made[1]]
    assert "nonce" not in around[0]
    assert (await caller.ask("GET", path, params={"limit": "101"}))[0] == 400


async def test_who_is_not_let_in(caller: Caller) -> None:
    async with caller.http.get(caller.server.api_url + "/users/@me") as response:
        assert response.status == 401
    for token, flags, code in (("wrong", 1 << 19, 4004), (caller.server.token, 0, 4014)):
        caller.server.world.flags = flags
        async with caller.socket() as socket:
            await socket.send_json({"op": 2, "d": {"token": token, "intents": _ALL}})
            await socket.receive()
            assert socket.close_code == code


async def test_a_session_is_resumed_with_what_was_missed(caller: Caller) -> None:
    async with caller.socket() as socket:
        session = await caller.identified(socket)
        await caller.server.gateway.drop()
        await socket.receive()
    await caller.post(content="missed")
    async with caller.socket() as socket:
        resume = {"token": caller.server.token, "session_id": session, "seq": 2}
        await socket.send_json({"op": 6, "d": resume})
        missed, resumed = [await socket.receive_json() for _ in range(2)]
    assert (missed["t"], missed["s"], missed["d"]["content"]) == ("MESSAGE_CREATE", 3, "missed")
    assert resumed["t"] == "RESUMED"


async def test_a_session_that_said_goodbye_cannot_be_resumed(caller: Caller) -> None:
    async with caller.socket() as socket:
        session = await caller.identified(socket)
        await socket.close(code=1000)
    async with caller.socket() as socket:
        await socket.send_json({"op": 6, "d": {"token": caller.server.token, "session_id": session, "seq": 2}})
        assert await socket.receive_json() == {"op": 9, "d": False, "s": None, "t": None}


async def test_a_heartbeat_is_acknowledged(caller: Caller) -> None:
    async with caller.socket() as socket:
        await socket.send_json({"op": 1, "d": None})
        assert (await socket.receive_json())["op"] == 11


async def test_without_the_intent_only_what_is_for_the_bot_has_text(caller: Caller) -> None:
    room, bot = caller.server.world.channel("room"), caller.server.world.bot["id"]
    async with caller.socket() as socket:
        await caller.identified(socket, 1 << 0 | 1 << 9)
        for text in ("for others", f"<@{bot}> for you"):
            await caller.server.say(text, channel=room)
        await caller.server.say("alone", channel=caller.server.world.direct("ann"))
        await caller.server.say("end", channel=room, user="arvis")
        seen = [(await socket.receive_json())["d"]["content"] for _ in range(3)]
    assert seen == ["", f"<@{bot}> for you", "end"]


async def test_an_interaction_is_answered_once(caller: Caller) -> None:
    given = await caller.server.command("help", "", channel=caller.server.world.channel("room"))
    path = f"/interactions/{given}/token-{given}/callback"
    assert (await caller.ask("POST", path, {"type": 4, "data": {"content": "x"}}))[0] == 204
    assert (await caller.ask("POST", path, {"type": 4}))[1]["code"] == 40060
    assert (await caller.ask("POST", "/interactions/1/2/callback", {"type": 4}))[1]["code"] == 10062


async def test_a_thread_has_the_id_of_its_message(caller: Caller) -> None:
    _, message = await caller.post(content="x")
    path = f"/channels/{caller.room}/messages/{message['id']}/threads"
    status, thread = await caller.ask("POST", path, {"name": "plans"})
    assert (status, thread["id"], thread["parent_id"]) == (201, message["id"], caller.room)
    assert (await caller.ask("POST", path, {"name": "plans"}))[1]["code"] == 160004


async def test_only_its_own_messages_can_be_changed(caller: Caller) -> None:
    other = await caller.server.say("mine", channel=caller.server.world.channel("room"))
    path = f"/channels/{caller.room}/messages/{other['id']}"
    assert (await caller.ask("PATCH", path, {"content": "yours"}))[1]["code"] == 50005
    assert (await caller.ask("DELETE", path + "0"))[1]["code"] == 10008


async def test_a_rate_limit_says_how_long(caller: Caller) -> None:
    caller.server.refuse_sends(1, retry_after=0.5, everywhere=True)
    headers = {"Authorization": f"Bot {caller.server.token}"}
    url = f"{caller.server.api_url}/channels/{caller.room}/messages"
    async with caller.http.post(url, json={"content": "x"}, headers=headers) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "0.5")
        assert response.headers["Via"]
        assert (await response.json())["global"] is True
    assert (await caller.post(content="x"))[0] == 200


@pytest.mark.parametrize("after", [False, True])
async def test_a_connection_that_is_cut_before_or_after(caller: Caller, after: bool) -> None:
    caller.server.reset_sends(1, after=after)
    with pytest.raises(aiohttp.ClientError):
        await caller.post(content="x")
    assert len(caller.server.world.messages[caller.room]) == int(after)
