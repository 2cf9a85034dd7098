"""The endpoint for OpenAI's clients: requests, replies, errors and streams."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.events import Delta
from arvis.domain.messages import MessageStatus
from arvis.domain.taint import CLEAN, Label
from arvis.web.http.limits import Timeouts
from arvis.web.openai.waiting import GrowingAnswer
from tests.flows.web_script import web_address
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, OWNER_KEY, VIEWER_KEY, Answer, Site, eventually, running_site

CHAT = "/v1/chat/completions"
QUICK = Timeouts(look=0.05, completion=0.3, keepalive=0.05)
PICTURE = base64.b64encode(b"\x89PNG not really").decode()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, patience=Timeouts(look=0.05)) as site:
        yield site


def asked(content: Any = "hello", *before: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "helper", "messages": [*before, {"role": "user", "content": content}], **more}


async def refused(site: Site, body: Any, **more: Any) -> dict[str, Any]:
    answer = await site.call("POST", CHAT, json=body, **more)
    assert answer.status >= 400, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "code", "param"}
    return {"status": answer.status, **error}


async def answered(site: Site, body: dict[str, Any], reply: str = "Good day.", **more: Any) -> Answer:
    """Send a request whose message is answered at once, and return the response."""
    before = len(site.inbox.received)
    call = asyncio.create_task(site.call("POST", CHAT, json=body, **more))
    await eventually(lambda: len(site.inbox.received) > before or call.done())
    if len(site.inbox.received) > before:
        site.rest(f"m{len(site.inbox.received)}", MessageStatus.ANSWERED, reply=reply)
    return await call


async def streamed(site: Site, body: dict[str, Any]) -> tuple[list[Any], asyncio.Task[list[Any]]]:
    """Return the events of a stream as they arrive, and the task that reads them to the end."""
    events: list[Any] = []
    headers = {"Authorization": f"Bearer {OWNER_KEY}"}

    async def read() -> list[Any]:
        async with site.http.post(site.url + CHAT, json={**body, "stream": True}, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            async for line in response.content:
                text = line.decode().strip()
                if text.startswith(":"):
                    events.append(text)
                elif text:
                    data = text.removeprefix("data: ")
                    events.append(data if data == "[DONE]" else json.loads(data))
        return events

    task = asyncio.create_task(read())
    await eventually(lambda: events)
    return events, task


def spoken(events: list[Any]) -> str:
    chunks = [each for each in events if isinstance(each, dict) and each.get("choices")]
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)


async def test_a_request_is_a_message_and_the_reply_its_completion(site: Site) -> None:
    answer = await answered(site, asked(user="room 7"), key=CHAT_KEY)
    (message,) = site.inbox.received
    assert message.address == web_address("dashboard-agent-helper", thread=f"v1/{message.sender.user_id}/room 7")
    assert (message.content, message.is_direct) == ("hello", True)
    found = answer.json()
    assert answer.headers["x-arvis-message-id"] == "m1"
    assert found["choices"][0]["message"] == {"role": "assistant", "content": "Good day.", "refusal": None}
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert (found["model"], found["object"], found["id"]) == ("helper", "chat.completion", "chatcmpl-m1")


async def test_the_same_key_of_a_request_asks_once(site: Site) -> None:
    headers = {"Idempotency-Key": "once"}
    first = await answered(site, asked(), headers=headers)
    again = await answered(site, asked(), headers=headers)
    assert first.headers["x-arvis-message-id"] == again.headers["x-arvis-message-id"]
    assert len(site.inbox.received) == 1
    assert (await refused(site, asked(), headers={"Idempotency-Key": "x" * 201}))["status"] == 400


async def test_what_was_said_before_goes_along_into_a_new_conversation_only(site: Site) -> None:
    before = ({"role": "system", "content": "Be brief."}, {"role": "assistant", "content": "Hi."})
    await answered(site, asked("and now?", *before, user="new"))
    assert site.inbox.received[0].content == (
        "[Earlier messages, as reported by the client program]\n[system]\n> Be brief.\n[assistant]\n> Hi.\n\n"
        "[Current message]\nand now?"
    )
    assert site.inbox.received[0].taint == {Label.AGENTS}
    goes_on = (*before, {"role": "user", "content": "and now?"}, {"role": "assistant", "content": "Good day."})
    await answered(site, asked("and then?", *goes_on, user="new"))
    first, second = site.inbox.received
    assert (second.content, second.taint, second.address) == ("and then?", CLEAN, first.address)


async def test_only_an_owners_system_text_counts_as_the_askers_own(site: Site) -> None:
    for key in (OWNER_KEY, AGENT_KEY):
        await answered(site, asked("now", {"role": "system", "content": "Be brief."}), key=key)
    assert [message.taint for message in site.inbox.received] == [CLEAN, {Label.PEOPLE}]


async def test_pictures_of_the_request_are_attachments(site: Site) -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
    ]
    await answered(site, asked(parts))
    (message,) = site.inbox.received
    (upload,) = message.uploads
    assert message.content == "What is this?"
    assert (upload.content_type, upload.data) == ("image/png", base64.b64decode(PICTURE))


def part(kind: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"type": kind, kind: fields}]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (asked(part("image_url", url="https://pictures.example/cat.png")), "messages[0].content"),
        (asked(part("image_url", url="data:image/png,plain")), "messages[0].content"),
        (asked(part("image_url", url="data:image/png;base64,???")), "data"),
        (asked(part("video", url="x")), "messages[0].content"),
        (asked(tools=[{"type": "function"}]), "tools[0].function.name"),
        (asked(n=2), "n"),
        (asked(stream="yes"), "stream"),
        (asked(response_format={"type": "xml"}), "response_format.type"),
        ({"model": "helper", "messages": []}, "messages"),
        ({"model": "helper", "messages": [{"role": "assistant", "content": "Hi."}]}, "messages"),
        ({"model": "helper", "messages": [{"role": "robot", "content": "Hi."}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": "Hi."}]}, "model"),
    ],
)
async def test_what_cannot_be_answered_is_named(site: Site, body: Any, param: str) -> None:
    error = await refused(site, body)
    assert (error["status"], error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert site.inbox.received == []


async def test_errors_have_openais_form(site: Site) -> None:
    assert (await refused(site, asked(), key="wrong"))["status"] == 401
    assert (await refused(site, asked(), key=None))["type"] == "authentication_error"
    assert (await refused(site, asked(), key=VIEWER_KEY))["type"] == "permission_error"
    unknown = await refused(site, {**asked(), "model": "nobody"})
    assert (unknown["status"], unknown["code"], unknown["param"]) == (404, "model_not_found", "model")
    assert (await refused(site, asked(" ")))["code"] == "empty"
    site.inbox.full = True
    assert (await refused(site, asked()))["status"] == 503
    site.inbox.full = False
    site.inbox.refusals["dashboard-agent-helper"] = "blocked"
    assert (await refused(site, asked()))["code"] == "blocked"


async def test_agents_are_models(site: Site) -> None:
    found = (await site.call("GET", "/v1/models", key=AGENT_KEY)).json()
    assert [model["id"] for model in found["data"]] == ["helper"]
    assert (await site.call("GET", "/v1/models/helper", key=AGENT_KEY)).json() == found["data"][0]
    assert (await site.call("GET", "/v1/models/nobody")).status == 404


async def test_a_message_that_fails_says_why_and_is_not_asked_again(site: Site) -> None:
    call = asyncio.create_task(site.call("POST", CHAT, json=asked()))
    await eventually(lambda: site.inbox.received)
    site.rest("m1", MessageStatus.FAILED, reason="quota", reply=None)
    answer = await call
    assert answer.status == 502
    assert "no credit left" in answer.json()["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert answer.headers["x-arvis-message-id"] == "m1"


async def test_a_message_that_waits_for_a_person_says_where_to_answer(site: Site) -> None:
    call = asyncio.create_task(site.call("POST", CHAT, json=asked()))
    await eventually(lambda: site.inbox.received)
    site.rest("m1", MessageStatus.WAITING)
    text = (await call).json()["choices"][0]["message"]["content"]
    assert "waits for a person's decision" in text
    assert "/api/messages/m1" in text


async def test_an_answer_that_takes_too_long_is_named(tmp_path: Path) -> None:
    async with running_site(tmp_path, patience=QUICK) as site:
        error = await refused(site, asked())
        assert error["status"] == 504
        assert "message m1" in error["message"]


async def test_a_stream_shows_what_is_written_and_ends_with_the_reply(site: Site) -> None:
    events, reading = await streamed(site, asked(stream_options={"include_usage": True}))
    address = site.inbox.received[0].address
    site.bus.publish(Delta(address, "m1", 0, "Good "))
    await eventually(lambda: spoken(events) == "Good")
    site.bus.publish(Delta(address, "m1", 5, "day"))
    await eventually(lambda: spoken(events) == "Good day")
    site.bus.publish(Delta(address, "other", 0, "Not this"))
    site.rest("m1", MessageStatus.ANSWERED, reply="Good day, Ann.")
    found = await reading
    assert spoken(found) == "Good day, Ann."
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert found[0]["usage"] is None
    assert found[-3]["choices"][0]["finish_reason"] == "stop"
    assert (found[-2]["choices"], found[-2]["usage"]["total_tokens"]) == ([], 7)
    assert found[-1] == "[DONE]"


async def test_a_stream_that_fails_ends_with_the_error(site: Site) -> None:
    _, reading = await streamed(site, asked())
    site.rest("m1", MessageStatus.FAILED, reason="attempts")
    assert "several attempts" in (await reading)[-1]["error"]["message"]


async def test_a_silent_stream_gives_signs_of_life_and_ends_when_the_server_stops(tmp_path: Path) -> None:
    async with running_site(tmp_path, patience=QUICK) as site:
        events, reading = await streamed(site, asked())
        await eventually(lambda: ": keep-alive" in events)
        await site.server.stop()
        assert (await reading)[-1]["error"]["code"] == "stopping"


async def test_a_client_that_leaves_takes_nothing_with_it(site: Site) -> None:
    _, reading = await streamed(site, asked())
    reading.cancel()
    await eventually(lambda: not site.bus._listeners.get(Delta) or len(site.bus._listeners[Delta]) == 1)
    assert len(site.inbox.received) == 1


async def test_a_client_that_leaves_gives_its_place_back(site: Site) -> None:
    board = site.parts.board
    call = asyncio.create_task(site.call("POST", CHAT, json=asked()))
    await eventually(lambda: board._watches)
    call.cancel()
    await eventually(lambda: not board._watches)


@pytest.mark.parametrize(
    ("told", "last", "shown"),
    [
        (["Hel", "Hello"], "Hello", "Hello"),
        (["Hello", "", "He", "Hello you"], "Hello you", "Hello you"),  # begun anew, and the same
        (["Hello", "Good"], "Good day", "Hello\n\nGood day"),  # begun anew, and another
        (["Let me look.  \n"], "Let me look.", "Let me look."),
        ([], "At once", "At once"),
        (["Half an ans"], "", "Half an ans"),
    ],
)
def test_pieces_are_only_appended(told: list[str], last: str, shown: str) -> None:
    growing = GrowingAnswer()
    assert "".join([*(growing.more(text) for text in told), growing.last(last)]) == shown
