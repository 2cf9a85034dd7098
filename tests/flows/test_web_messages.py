"""Messages over HTTP: sent, refused, read, awaited."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.config.sections import Limits
from arvis.domain.messages import MessageStatus, PrincipalRole
from arvis.ports.people import Allowance
from arvis.ports.store import Transaction
from arvis.services import allowances
from arvis.web.http.limits import Timeouts
from tests.flows.web_raw import ask_raw
from tests.flows.web_script import web_address
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, OPERATOR_KEY, OWNER_KEY, Answer, Site, eventually, running_site

LIMITS = Limits(message_bytes=100, attachment_bytes=1000)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, limits=LIMITS) as site:
        yield site


async def send(site: Site, **fields: Any) -> str:
    answer = await site.call("POST", "/api/messages", json=fields)
    assert answer.status == 202, answer.text
    assert answer.json()["ok"] is True
    return str(answer.json()["messageId"])


async def test_a_message_reaches_the_inbox_as_the_user_an_owner_key_names(site: Site) -> None:
    await send(site, content="hello", userId="bob", userName="Bob", channelId="room", id="x1")
    (message,) = site.inbox.received
    assert message.address == web_address("room")
    assert (message.event_id, message.content, message.is_direct) == ("x1", "hello", True)
    assert (message.sender.user_id, message.sender.name) == ("bob", "Bob")
    assert (message.sender.role, message.sender.paired) == (PrincipalRole.MEMBER, True)


@pytest.mark.parametrize(
    ("fields", "role"),
    [({"userId": "ann"}, PrincipalRole.OWNER), ({"userId": "owner"}, PrincipalRole.OWNER), ({}, PrincipalRole.OWNER)],
)
async def test_owners_are_known(site: Site, fields: dict[str, str], role: PrincipalRole) -> None:
    await send(site, content="hello", **fields)
    assert site.inbox.received[0].sender.role is role


async def test_a_message_may_demand_json_of_a_schema(site: Site) -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    await send(site, content="Add 1 and 2", replySchema=schema)
    assert site.inbox.received[0].wishes == {"format": {"schema": schema, "name": "reply", "strict": False}}
    for wrong, why in (({"type": "thing"}, "`replySchema`"), ("object", "replySchema")):
        refused = await site.call("POST", "/api/messages", json={"content": "hello", "replySchema": wrong})
        assert refused.status in {400, 422}, wrong
        assert why in refused.json()["error"]["message"]
    assert len(site.inbox.received) == 1


async def test_a_message_may_have_its_own_effort(site: Site) -> None:
    await send(site, content="hello", effort="high")
    assert site.inbox.received[0].wishes == {"effort": "high"}
    refused = await site.call("POST", "/api/messages", json={"content": "hello", "effort": "huge"})
    assert refused.status == 422
    assert "`effort` must be one of none, minimal" in refused.json()["error"]["message"]


async def test_the_channel_is_the_users_own_when_none_is_named(site: Site) -> None:
    await send(site, content="hello", userId="bob")
    assert site.inbox.received[0].address.channel == "web-bob"


async def test_the_same_id_on_the_same_channel_is_the_same_message(site: Site) -> None:
    first = await send(site, content="one", channelId="room", id="x")
    again = await send(site, content="two", channelId="room", id="x")
    elsewhere = await send(site, content="one", channelId="other", id="x")
    assert first == again
    assert first != elsewhere
    assert len(site.inbox.received) == 2


async def test_messages_without_an_id_are_different(site: Site) -> None:
    assert await send(site, content="one") != await send(site, content="one")


@pytest.mark.parametrize(("key", "agents", "paired"), [(CHAT_KEY, None, False), (AGENT_KEY, ("helper",), True)])
async def test_a_chat_key_is_a_user_of_its_own(
    site: Site, key: str, agents: tuple[str, ...] | None, paired: bool
) -> None:
    answer = await site.call("POST", "/api/messages", key=key, json={"content": "hi", "userId": "ann"})
    assert answer.status == 202
    sender = site.inbox.received[0].sender
    assert sender.user_id.startswith("key-")
    assert (sender.role, sender.agents, sender.paired) == (PrincipalRole.MEMBER, agents, paired)


async def test_a_chat_key_has_an_agent_for_itself_and_no_strange_channel(site: Site) -> None:
    for channel, status in [("room", 403), ("web-owner", 403), ("dashboard-agent-helper", 202)]:
        answer = await site.call("POST", "/api/messages", key=CHAT_KEY, json={"content": "hi", "channelId": channel})
        assert answer.status == status
    (message,) = site.inbox.received
    assert message.address == web_address("dashboard-agent-helper", thread=message.sender.user_id)


async def test_an_operator_key_speaks_for_itself_on_any_channel(site: Site) -> None:
    fields = {"content": "hi", "channelId": "room", "userId": "ann"}
    assert (await site.call("POST", "/api/messages", key=OPERATOR_KEY, json=fields)).status == 202
    assert site.inbox.received[0].sender.role is PrincipalRole.OPERATOR
    assert site.inbox.received[0].address == web_address("room")


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "empty"),
        ({"content": " \n"}, 400, "empty"),
        ({"content": "\0"}, 400, "empty"),
        ({"content": "x" * 101}, 413, "message_too_large"),
        ({"content": "ü" * 51}, 413, "message_too_large"),
        ({"content": 5}, 422, "unprocessable"),
        ({"content": "x", "channelId": ""}, 422, "unprocessable"),
        ({"content": "x", "channelId": "a\nb"}, 422, "unprocessable"),
        ({"content": "x", "channelId": "c" * 201}, 422, "unprocessable"),
        ({"content": "x", "userId": ["bob"]}, 422, "unprocessable"),
        ({"content": "x", "id": 7}, 422, "unprocessable"),
        ({"content": "x", "attachments": "file"}, 422, "unprocessable"),
        ({"content": "x", "attachments": [{"filename": "a", "data": "no base64!"}]}, 422, "unprocessable"),
        ({"content": "x", "attachments": [{"filename": "a"}]}, 422, "unprocessable"),
        ({"content": "x", "attachments": [{"filename": "a", "data": "", "contentType": "x"}]}, 422, "unprocessable"),
        ({"attachments": [{"filename": "a", "data": "A" * 2000}]}, 413, "attachment_too_large"),
        ({"content": "x", "attachments": [{"filename": "a", "data": ""}] * 11}, 413, "too_large"),
    ],
)
async def test_what_cannot_be_a_message_is_refused_before_the_inbox(
    site: Site, fields: dict[str, Any], status: int, code: str
) -> None:
    answer = await site.call("POST", "/api/messages", json=fields)
    assert (answer.status, answer.code) == (status, code)
    assert not site.inbox.received


@pytest.mark.parametrize(
    "body", ["", "[]", '"text"', "{", '{"content": NaN}', "[" * 50_000, "\ud800".encode("utf-8", "surrogatepass")]
)
async def test_a_body_that_is_no_json_object_is_refused(site: Site, body: str | bytes) -> None:
    answer = await site.call("POST", "/api/messages", data=body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.code) == (400, "invalid")


async def test_only_json_is_read(site: Site) -> None:
    answer = await site.call("POST", "/api/messages", data={"content": "from a form"})
    assert (answer.status, answer.code) == (400, "invalid")


async def test_a_body_over_the_limit_is_not_kept(site: Site) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b" " * 1024

    json_type = {"Content-Type": "application/json"}
    declared = await site.call("POST", "/api/messages", data=b" " * 200_000, headers=json_type)
    streamed = await site.call("POST", "/api/messages", data=endless(), headers=json_type)
    assert (declared.status, streamed.status) == (413, 413)


async def test_text_is_cleaned_at_the_border(site: Site) -> None:
    body = b'{"content": "a\\u0000b\\ud800c \\ud83d\\ude00", "userName": "B\\u0000o\\nb", "userId": "bob"}'
    answer = await site.call("POST", "/api/messages", data=body, headers={"Content-Type": "application/json"})
    assert answer.status == 202
    assert site.inbox.received[0].content == "ab\ufffdc \U0001f600"
    assert site.inbox.received[0].sender.name == "Bob"


async def test_attachments_arrive_as_bytes_with_harmless_names(site: Site) -> None:
    data = base64.b64encode(b"\x00\x01").decode()
    files = [
        {"filename": "../../etc/pass\0wd", "contentType": "image/png", "data": data},
        {"filename": "..", "data": "", "voice": True},
    ]
    await send(site, attachments=files)
    first, second = site.inbox.received[0].uploads
    assert (first.filename, first.content_type, first.data) == ("_.._etc_passwd", "image/png", b"\x00\x01")
    assert (second.filename, second.content_type) == ("file", "application/octet-stream")
    assert (first.voice, second.voice) == (False, True)


async def test_a_large_message_beyond_the_limit_is_refused_before_its_body_is_sent(tmp_path: Path) -> None:
    """So that the files of a flood are neither read nor decoded."""
    file = {"filename": "a.bin", "data": base64.b64encode(bytes(300_000)).decode()}

    def use_up(tx: Transaction, user_id: str, now: int) -> None:
        person = tx.principals.seen("web", user_id, "Key", PrincipalRole.MEMBER, now)
        tx.allowances.put(person.id, allowances.MESSAGES, Allowance(now, used=120))

    async with running_site(tmp_path, limits=Limits()) as site:
        first = await site.call("POST", "/api/messages", key=CHAT_KEY, json={"attachments": [file]})
        assert first.status == 202
        await site.store.write(use_up, site.inbox.received[0].sender.user_id, site.clock.now())
        head = [("Authorization", f"Bearer {CHAT_KEY}"), ("Content-Type", "application/json")]
        for size in (("Content-Length", "400000"), ("Transfer-Encoding", "chunked")):
            refused = await ask_raw(site, "POST /api/messages", *head, size)
            assert (refused.status, refused.code) == (429, "too_many_messages")
            assert 0 < int(refused.headers["retry-after"]) <= 60
        # The limits of other people and of owners are not reached.
        for key in (AGENT_KEY, OWNER_KEY):
            assert (await site.call("POST", "/api/messages", key=key, json={"attachments": [file]})).status == 202
        site.clock.shift_ms += 60_000
        later = await site.call("POST", "/api/messages", key=CHAT_KEY, json={"attachments": [file]})
        assert later.status == 202
        assert len(site.inbox.received) == 4


@pytest.mark.parametrize(
    ("reason", "status"), [("unknown_agent", 404), ("blocked", 403), ("not_allowed", 403), ("read_only", 403)]
)
async def test_a_refusal_carries_its_reason(site: Site, reason: str, status: int) -> None:
    site.inbox.refusals["room"] = reason
    for _ in range(2):
        answer = await site.call("POST", "/api/messages", json={"content": "x", "channelId": "room", "id": "same"})
        assert (answer.status, answer.code) == (status, reason)
    assert len(site.inbox.received) == 1


@pytest.mark.parametrize("reason", ["unknown_agent", "not_allowed", "not_paired", "not_bound"])
async def test_an_agent_that_is_closed_looks_to_a_chat_key_as_if_it_were_not_there(site: Site, reason: str) -> None:
    site.inbox.refusals["dashboard-agent-secret"] = reason
    asked = {"content": "x", "channelId": "dashboard-agent-secret"}
    answer = await site.call("POST", "/api/messages", key=CHAT_KEY, json=asked)
    told = answer.json()["error"]
    assert (answer.status, answer.code) == (404, "unknown_agent")
    assert told["message"] == "There is no such agent, or you may not ask it."
    # A client that may list the agents gets the reason.
    assert (await site.call("POST", "/api/messages", json=asked)).code == reason


async def test_what_goes_wrong_inside_is_not_shown(site: Site) -> None:
    site.inbox.broken = True
    answer = await site.call("POST", "/api/messages", json={"content": "x"})
    assert (answer.status, answer.code) == (500, "internal")
    assert "swordfish" not in answer.text


async def test_a_timeline_tells_everything(site: Site) -> None:
    message_id = await send(site, content="hello", channelId="room")
    site.rest(message_id, MessageStatus.ANSWERED, reply="Hi", reply_id="r1", answers=(message_id,))
    timeline = (await site.call("GET", f"/api/messages/{message_id}")).json()
    assert timeline["messageId"] == message_id
    assert (timeline["status"], timeline["reply"], timeline["replyId"]) == ("answered", "Hi", "r1")
    assert timeline["answers"] == [message_id]
    called = {"at": 1_700_000_000_000, "step": "model_call", "durationMs": 5}
    assert called.items() <= timeline["steps"][1].items()
    assert timeline["explanation"].startswith("Answered by helper")
    assert (timeline["job"]["kind"], timeline["job"]["agent"], timeline["agent"]) == ("message", "helper", "helper")
    assert (timeline["costUsd"], timeline["inputTokens"], timeline["outputTokens"]) == (0.0015, 3, 4)


@pytest.mark.parametrize("message_id", ["nothing", "a%00b", "..%2f..", "x" * 65, "%F0%9F%98%80"])
async def test_what_is_no_message_is_not_found(site: Site, message_id: str) -> None:
    for path in (f"/api/messages/{message_id}", f"/api/messages/{message_id}/wait?timeout=0"):
        assert (await site.call("GET", path)).status == 404


async def test_a_chat_key_reads_its_own_messages_only(site: Site) -> None:
    def meet(tx: Transaction, user_id: str) -> str:
        return tx.principals.seen("web", user_id, "API key", None, 1).id

    answer = await site.call("POST", "/api/messages", key=CHAT_KEY, json={"content": "hi"})
    own = answer.json()["messageId"]
    path = f"/api/messages/{own}"
    assert (await site.call("GET", path, key=CHAT_KEY)).status == 404
    principal = await site.store.write(meet, site.inbox.received[0].sender.user_id)
    timeline = site.insights.timelines[own]
    site.insights.timelines[own] = replace(timeline, message=replace(timeline.message, principal_id=principal))
    assert (await site.call("GET", path, key=CHAT_KEY)).status == 200
    assert (await site.call("GET", f"{path}/wait?timeout=0", key=CHAT_KEY)).status == 200
    assert (await site.call("GET", path, key=AGENT_KEY)).status == 404


async def waiter(site: Site, message_id: str) -> asyncio.Task[Answer]:
    """Start a request that waits for the message, and return when it has reached the server."""
    waiting = asyncio.create_task(site.call("GET", f"/api/messages/{message_id}/wait?timeout=15"))
    await eventually(lambda: site.parts.board._watches)
    return waiting


async def test_waiting_ends_with_the_event(site: Site) -> None:
    message_id = await send(site, content="hello")
    waiting = await waiter(site, message_id)
    site.rest(message_id, MessageStatus.ANSWERED, reply="Hi")
    answer = await asyncio.wait_for(waiting, 4)
    assert (answer.json()["status"], answer.json()["reply"]) == ("answered", "Hi")
    assert not site.parts.board._watches


async def test_waiting_sees_what_another_process_did(tmp_path: Path) -> None:
    """No event comes from another process, so the server reads the row every few seconds."""
    async with running_site(tmp_path, patience=Timeouts(look=0.02)) as site:
        message_id = await send(site, content="hello")
        waiting = await waiter(site, message_id)
        timeline = site.insights.timelines[message_id]
        site.insights.timelines[message_id] = replace(timeline, status=MessageStatus.WAITING)
        assert (await asyncio.wait_for(waiting, 10)).json()["status"] == "waiting"


async def test_stopping_answers_those_who_wait(tmp_path: Path) -> None:
    async with running_site(tmp_path) as site:
        message_id = await send(site, content="hello")
        waiting = await waiter(site, message_id)
        await site.server.stop()
        assert (await asyncio.wait_for(waiting, 5)).json()["status"] == "accepted"


@pytest.mark.parametrize("timeout", ["0", "0.05"])
async def test_waiting_ends_in_time(site: Site, timeout: str) -> None:
    message_id = await send(site, content="hello")
    answer = await site.call("GET", f"/api/messages/{message_id}/wait?timeout={timeout}")
    assert (answer.status, answer.json()["status"]) == (200, "accepted")


@pytest.mark.parametrize("timeout", ["-1", "nan", "soon", "", "1e3"])
async def test_a_wait_needs_a_number(site: Site, timeout: str) -> None:
    message_id = await send(site, content="hello")
    assert (await site.call("GET", f"/api/messages/{message_id}/wait?timeout={timeout}")).status == 422
