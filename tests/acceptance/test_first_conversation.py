"""The first conversation with the shipped daemon over its socket and its API. The model server works, fails or hangs,
and the daemon is killed in the middle."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from arvis.messaging import notices
from arvis.testing.openai_server import (
    Behaviour,
    Failure,
    Hang,
    Raw,
    ReceivedRequest,
    Reply,
)
from tests.acceptance.daemon import arvis
from tests.acceptance.place import PATIENCE, Place, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

MESSAGE_BYTES = 100_000
REPLY_BYTES = 200_000
SETTINGS = {
    "ARVIS__QUEUE__WORKERS": "10",
    "ARVIS__LIMITS__MESSAGE_BYTES": str(MESSAGE_BYTES),
    "ARVIS__LIMITS__REPLY_BYTES": str(REPLY_BYTES),
    "ARVIS__MODEL__IDLE_SECONDS": "1",
    "ARVIS__ROUTING__FALLBACK": "helper",
}
#: Times in a prompt: the day before a message of the history, and the line with the current time at the end.
TIMES = re.compile(r"^\[\d{4}-\d\d-\d\d\]\n|\n\nNow: \w+, \d{1,2} \w+ \d{4}, \d\d:\d\d \(UTC\)(?:\nHere: [^\n]+)?$")


@dataclass(frozen=True, slots=True)
class Gate:
    """A model behaviour that answers once the test releases it."""

    reply: Reply = field(default_factory=Reply)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        self.begun.set()
        await self.go.wait()
        return await self.reply.answer(received)


@dataclass(frozen=True, slots=True)
class Together:
    """A model behaviour that answers once this many requests have arrived."""

    barrier: asyncio.Barrier

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        await self.barrier.wait()
        words = TIMES.sub("", received.document["messages"][-1]["content"])
        return await Reply((f"for {words}",)).answer(received)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with opened(tmp_path_factory.mktemp("app"), SETTINGS) as place:
        yield place


@pytest.fixture
def place(shared: Place) -> Place:
    """The shared daemon, with a model server without requests and scripts of earlier tests."""
    shared.model.script.clear()
    shared.model.requests.clear()
    shared.model.arrived.clear()
    shared.model.disconnected.clear()
    return shared


def asked(place: Place) -> list[list[tuple[str, str]]]:
    """Return the conversation part of every request that reached the model, without the times."""
    return [
        [
            (turn["role"], TIMES.sub("", turn["content"]))
            for turn in request.document["messages"]
            if turn["role"] != "system"
        ]
        for request in place.model.requests
    ]


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE):
        await event.wait()


# -- success -----------------------------------------------------------------------------------------------


async def test_a_conversation_over_the_socket_is_streamed(place: Place) -> None:
    place.model.script.append(Reply(("Good ", "morning, ", "Ann ☀.")))
    async with place.socket("stream") as socket:
        message = await socket.say("Hello", id="hello-1")
        answer = await socket.until("message")
        assert answer["content"] == "Good morning, Ann ☀."
        assert (answer["replyTo"], answer["answers"], answer["seq"]) == (message, [message], 1)
        deltas = [frame for frame in socket.seen if frame["type"] == "delta"]
        assert "".join(delta["text"] for delta in deltas) == answer["content"]
        assert [delta["offset"] for delta in deltas] == [
            sum(len(before["text"]) for before in deltas[:number]) for number in range(len(deltas))
        ]
        assert {delta["messageId"] for delta in deltas} == {message}
        while not any(frame.get("status") == "answered" for frame in socket.seen):
            await socket.receive()
        statuses = [frame["status"] for frame in socket.seen if frame["type"] == "status"]
        assert statuses == ["running", "answered"]


async def test_a_message_over_the_api_is_answered_and_explained(place: Place) -> None:
    timeline = await place.ask("Hello", "api")
    assert (timeline["status"], timeline["reply"]) == ("answered", "Hello from the loopback model.")
    steps = [step["step"] for step in timeline["steps"]]
    assert steps[:3] == ["received", "routed", "queued"]
    assert {"model_call", "answered"} <= set(steps)
    assert asked(place) == [[("user", "Hello")]]
    assert place.model.requests[0].document["messages"][-1]["content"].startswith("Hello\n\nNow: ")


async def test_a_client_that_comes_back_gets_what_it_missed_once(place: Place) -> None:
    async with place.socket("resume") as socket:
        await socket.say("one")
        seen = (await socket.until("message"))["seq"]
    for text in ("two", "three"):
        await place.ask(text, "resume")
    async with place.socket("resume", last_seq=seen) as socket:
        missed = [await socket.until("message") for _ in range(2)]
        assert [frame["seq"] for frame in missed] == [seen + 1, seen + 2]
        assert await socket.nothing_more()
    async with place.socket("resume", last_seq=seen + 2) as socket:
        assert await socket.nothing_more()


async def test_the_second_of_two_quick_messages_knows_the_first_answer(place: Place) -> None:
    gate = Gate(Reply(("The first answer.",)))
    place.model.script.append(gate)
    async with place.socket("quick") as socket:
        await socket.say("first")
        await soon(gate.begun)
        second = await socket.say("second")
        gate.go.set()
        await socket.until("message", replyTo=second)
    assert asked(place)[1] == [("user", "first"), ("assistant", "The first answer."), ("user", "second")]


async def test_ten_conversations_are_answered_at_the_same_time(place: Place) -> None:
    """The model answers nobody before all ten requests have arrived."""
    place.model.script += [Together(asyncio.Barrier(10))] * 10
    texts = [f"conversation {number}" for number in range(10)]
    timelines = await asyncio.gather(*(place.ask(text, text) for text in texts))
    assert [timeline["reply"] for timeline in timelines] == [f"for {text}" for text in texts]


async def test_stop_ends_the_answer_that_is_being_written(place: Place) -> None:
    place.model.script.append(Hang(after_headers=True))
    async with place.socket("stop") as socket:
        message = await socket.say("Tell me everything")
        await soon(place.model.arrived)
        await socket.send(type="stop")
        answer = await socket.until("message")
        assert (answer["content"], answer["replyTo"]) == (notices.STOPPED, message)
        await soon(place.model.disconnected)
        assert (await place.wait(message))["status"] == "cancelled"
        next_one = await socket.say("And now?")
        assert (await socket.until("message"))["replyTo"] == next_one


async def test_a_file_is_kept_and_named_to_the_model(place: Place) -> None:
    data = b"buy milk"
    files = [{"filename": "list.txt", "contentType": "text/plain", "data": base64.b64encode(data).decode()}]
    await place.ask("Look", "files", attachments=files)
    assert "list.txt" in asked(place)[0][0][1]
    kept = [path for path in (place.daemon.data / "blobs").rglob("*") if path.is_file()]
    assert [hashlib.sha256(path.read_bytes()).digest() for path in kept] == [hashlib.sha256(data).digest()]


# -- bad models --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Reply(()), "empty"),
        (Reply(("half a stream",), cut_at=250), "timeout"),
        (Reply(("no end",), finish_reason=None, done=False), "timeout"),
        (Hang(), "timeout"),
        (Hang(after_headers=True), "timeout"),
        (Failure(503), "overloaded"),
        (Raw((b"no stream at all",)), "overloaded"),
    ],
    ids=["nothing", "half", "no end", "never", "never after the headers", "overloaded", "nonsense"],
)
async def test_a_model_that_stumbles_once_is_asked_again(place: Place, behaviour: Behaviour, error: str) -> None:
    place.model.script += [behaviour, Reply(("The whole ", "answer."))]
    async with place.socket(f"stumble-{error}-{type(behaviour).__name__}") as socket:
        message = await socket.say("Hello")
        answer = await socket.until("message")
        deltas = [frame for frame in socket.seen if frame["type"] == "delta"]
    timeline = await place.wait(message)
    calls = [step for step in timeline["steps"] if step["step"] == "model_call"]
    assert answer["content"] == "The whole answer."
    assert [call["error"] for call in calls] == [error, None]
    # The stream of the last attempt begins again at its first character.
    start = max(number for number, delta in enumerate(deltas) if delta["offset"] == 0)
    assert "".join(delta["text"] for delta in deltas[start:]) == "The whole answer."


async def test_a_reply_without_end_is_cut(place: Place) -> None:
    place.model.script.append(Reply(("x" * 65_536,) * 160))  # 10 MB
    timeline = await place.ask("Talk", "long")
    assert timeline["status"] == "answered"
    assert timeline["reply"] == "x" * REPLY_BYTES + notices.CUT


@pytest.mark.parametrize(("status", "kind"), [(400, "bad_request"), (401, "auth"), (402, "quota")])
async def test_a_model_that_refuses_is_told_politely(place: Place, status: int, kind: str) -> None:
    place.model.script.append(Failure(status, message="secret inner details"))
    timeline = await place.ask("Hello", f"refused-{status}")
    assert (timeline["status"], timeline["reason"]) == ("failed", kind)
    assert timeline["reply"] == notices.failed(kind)
    assert (await place.ask("Again", f"refused-{status}"))["status"] == "answered"


# -- bad clients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", "7", '{"type": 7}', '{"type": "dance"}', '{"type": "message"}', "\x00"]
)
async def test_a_frame_that_makes_no_sense_is_answered_and_the_socket_lives_on(place: Place, text: str) -> None:
    async with place.socket("frames") as socket:
        await socket.connection.send(text)
        error = (await socket.until("error"))["error"]
        assert error["message"]
        assert error["fix"]
        await socket.say("still here")
        await socket.until("message")


async def test_a_message_over_the_limit_is_refused_and_nothing_is_lost(place: Place) -> None:
    huge = "x" * (MESSAGE_BYTES + 1)
    status, answer = await place.call("POST", "/api/messages", json={"content": huge, "channelId": "huge"})
    assert (status, answer["error"]["code"]) == (413, "message_too_large")
    assert answer["error"]["fix"]
    async with place.socket("huge") as socket:
        await socket.send(type="message", content=huge)
        await socket.until("error")
        await socket.say("x" * MESSAGE_BYTES)
        await socket.until("message")


async def test_an_unknown_agent_and_a_wrong_key_are_named(place: Place) -> None:
    body = {"content": "Hello", "channelId": "dashboard-agent-nobody"}
    status, answer = await place.call("POST", "/api/messages", json=body)
    assert (status, answer["error"]["code"]) == (404, "unknown_agent")
    status, answer = await place.call("POST", "/api/messages", json=body, key="wrong")
    assert (status, answer["error"]["code"]) == (401, "wrong_key")
    async with connect(place.daemon.url.replace("http", "ws") + "/ws") as connection:
        await connection.send(json.dumps({"type": "auth", "apiKey": "wrong", "channelId": "x"}))
        assert json.loads(await connection.recv())["type"] == "error"
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 4001


async def test_a_body_that_is_no_json_is_refused(place: Place) -> None:
    status, answer = await place.call("POST", "/api/messages", data=b"{")
    assert status == 400
    assert answer["error"]["fix"]


async def test_the_same_id_again_is_the_same_message(place: Place) -> None:
    first = await place.post("Hello", "twice", id="event-1")
    again = await asyncio.gather(*(place.post("Hello", "twice", id="event-1") for _ in range(5)))
    assert set(again) == {first}
    await place.wait(first)
    async with place.socket("twice") as socket:
        assert await socket.say("Hello", id="event-1") == first
    assert asked(place) == [[("user", "Hello")]]
    assert place.model.requests[0].document["messages"][-1]["content"].startswith("Hello\n\nNow: ")


async def test_a_client_that_vanishes_in_the_middle_is_answered_all_the_same(place: Place) -> None:
    gate = Gate()
    place.model.script.append(gate)
    async with place.socket("vanish") as socket:
        message = await socket.say("Hello")
        await soon(gate.begun)
        socket.connection.transport.abort()
    gate.go.set()
    assert (await place.wait(message))["status"] == "answered"
    async with place.socket("vanish", last_seq=0) as socket:
        assert (await socket.until("message"))["replyTo"] == message


async def test_an_unknown_key_of_the_configuration_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("web:\n  port: 0\n  prot: 1\n")
    ended = await asyncio.to_thread(arvis, "run", cwd=tmp_path)
    assert ended.returncode == 2
    assert "web.prot" in ended.stderr
    assert "3" in ended.stderr
    assert "Traceback" not in ended.stderr


# -- a daemon that dies ------------------------------------------------------------------------------------


async def test_a_message_that_was_accepted_is_answered_after_a_kill(tmp_path: Path) -> None:
    async with opened(tmp_path, SETTINGS) as place:
        place.model.script.append(Hang())
        messages = [await place.post("first", "kill", id="event-1")]
        await soon(place.model.arrived)
        messages.append(await place.post("second", "kill"))
        await asyncio.to_thread(place.daemon.kill)
        await asyncio.to_thread(place.daemon.start)
        timelines = [await place.wait(message) for message in messages]
        assert [timeline["status"] for timeline in timelines] == ["answered", "answered"]
        assert "recovered" in [step["step"] for step in timelines[0]["steps"]]
        assert await place.post("first", "kill", id="event-1") == messages[0]
        async with place.socket("kill", last_seq=0) as socket:
            answers = (await socket.until("message"))["answers"]
            if answers == messages[:1]:
                answers += (await socket.until("message"))["answers"]
            assert answers == messages
            assert await socket.nothing_more()


async def test_a_daemon_that_is_stopped_in_the_middle_of_an_answer_lets_it_end(tmp_path: Path) -> None:
    async with opened(tmp_path, SETTINGS) as place:
        gate = Gate()
        place.model.script.append(gate)
        message = await place.post("Hello", "drain")
        await soon(gate.begun)
        stopping = asyncio.create_task(asyncio.to_thread(place.daemon.stop))
        await until_closed(place)
        gate.go.set()
        await stopping
        await asyncio.to_thread(place.daemon.start)
        timeline = await place.wait(message)
        assert (timeline["status"], len(place.model.requests)) == ("answered", 1)


async def until_closed(place: Place) -> None:
    """Wait until the daemon accepts no more calls: its drain has begun."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await place.call("GET", "/health")
            except aiohttp.ClientError:
                return
