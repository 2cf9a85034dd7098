"""`speech` frames over a real socket: chunks become messages of the speaker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.config.sections import Limits
from arvis.speech import UtteranceRules
from tests.flows.web_server import CHAT_KEY, VIEWER_KEY, Site, eventually, running_site

QUICK = UtteranceRules(pause=0.05, silence=0.1, longest=5)
SLOW = UtteranceRules(pause=60, silence=60, longest=60)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, speech=SLOW) as site:
        yield site


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, speech=QUICK, limits=Limits(message_bytes=1_000)) as site:
        yield site


def texts(site: Site) -> list[str]:
    return [message.content for message in site.inbox.received]


async def test_chunks_become_one_message_with_one_receipt(site: Site) -> None:
    async with site.socket(channelId="room", userId="ann") as socket:
        await socket.send(type="speech", chunkId="a", text="can you book", complete=False)
        await socket.send(type="speech", chunkId="b", text="me a table")
        await socket.send(type="speech", chunkId=3, text="for two", complete=True)
        ack = await socket.until("ack")
    (message,) = site.inbox.received
    assert (message.content, message.address.channel) == ("can you book me a table for two", "room")
    assert message.sender.user_id == "ann"
    assert message.event_id.startswith("speech:")
    assert (ack["id"], ack["chunkIds"], bool(ack["messageId"])) == ("a", ["a", "b", "3"], True)


async def test_a_pause_sends_it_by_itself(quick: Site) -> None:
    async with quick.socket(channelId="room") as socket:
        await socket.send(type="speech", chunkId="1", text="what is the weather like")
        assert (await socket.until("ack"))["chunkIds"] == ["1"]
        await socket.send(type="speech", chunkId="2", text="ok.")
        assert (await socket.until("ack"))["chunkIds"] == ["2"]
    assert texts(quick) == ["what is the weather like", "ok."]


async def test_what_was_said_before_the_connection_ended_is_sent(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        await socket.send(type="speech", chunkId="1", text="I wanted to")
        await socket.send(type="ping")
        await socket.until("pong")
    await eventually(lambda: texts(site) == ["I wanted to"])


async def test_who_lost_the_receipt_gets_it_again_and_nothing_is_said_twice(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        await socket.send(type="speech", chunkId="1", text="I wanted to")
        await socket.send(type="ping")
        await socket.until("pong")
    await eventually(lambda: texts(site))
    async with site.socket(channelId="room") as socket:
        await socket.send(type="speech", chunkId="1", text="I wanted to")
        ack = await socket.until("ack")
        assert (ack["id"], ack["chunkIds"]) == ("1", ["1"])
        await socket.send(type="speech", chunkId="2", text="say hello", complete=True)
        assert (await socket.until("ack"))["messageId"] != ack["messageId"]
    assert texts(site) == ["I wanted to", "say hello"]


async def test_people_in_one_channel_are_heard_each_for_themselves(site: Site) -> None:
    async with site.socket(channelId="room", userId="ann") as ann, site.socket(channelId="room", userId="ben") as ben:
        await ann.send(type="speech", chunkId="1", text="I am Ann")
        await ben.send(type="speech", chunkId="1", text="I am Ben", complete=True)
        await ben.until("ack")
        await ann.send(type="speech", chunkId="2", complete=True)
        await ann.until("ack")
    said = {message.sender.user_id: message.content for message in site.inbox.received}
    assert said == {"ann": "I am Ann", "ben": "I am Ben"}


async def test_what_is_refused_is_told_and_may_come_again(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        site.inbox.full = True
        await socket.send(type="speech", chunkId="1", text="hello", complete=True)
        error = await socket.until("error")
        assert (error["id"], error["chunkIds"], error["error"]["code"]) == ("1", ["1"], "disk_low")
        site.inbox.full = False
        await socket.send(type="speech", chunkId="1", text="hello", complete=True)
        assert (await socket.until("ack"))["id"] == "1"
    assert texts(site) == ["hello"]


async def test_a_chunk_has_a_bound(quick: Site) -> None:
    async with quick.socket(channelId="room") as socket:
        await socket.send(type="speech", chunkId="1", text="x" * 8_001)
        assert (await socket.until("error"))["error"]["code"] == "message_too_large"
        await socket.send(type="speech", chunkId="y" * 151, text="x")
        assert (await socket.until("error"))["error"]["code"] == "unprocessable"
        await socket.send(type="speech", text="x")
        assert (await socket.until("error"))["error"]["code"] == "unprocessable"
        await socket.send(type="speech", chunkId="2", text=" ")
        assert (await socket.until("error"))["error"]["code"] == "empty"
        await socket.send(type="speech", chunkId="2", text="x" * 1_001, complete=True)
        assert (await socket.until("error"))["error"]["code"] == "message_too_large"
    assert not quick.inbox.received


async def test_only_who_may_send_is_heard(site: Site) -> None:
    async with site.socket(apiKey=VIEWER_KEY) as socket:
        await socket.send(type="speech", chunkId="1", text="hello", complete=True)
        assert (await socket.until("error"))["error"]["code"] == "role"
    async with site.socket(apiKey=CHAT_KEY) as socket:
        await socket.send(type="speech", chunkId="1", text="hello", complete=True)
        assert (await socket.until("ack"))["id"] == "1"
    assert texts(site) == ["hello"]
