"""Answers that are being streamed when a socket joins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.domain.events import Delta, NoticesMissed, StatusChanged
from arvis.domain.messages import MessageStatus
from tests.flows.web_script import web_address
from tests.flows.web_server import Site, running_site

ROOM = web_address("room")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_a_socket_that_joins_while_an_answer_is_streamed_gets_its_beginning(site: Site) -> None:
    site.bus.publish(Delta(ROOM, "m1", 0, "Once upon"))
    site.bus.publish(Delta(ROOM, "m1", 9, " a time"))
    site.bus.publish(Delta(ROOM, "m2", 0, "Ended"))
    site.bus.publish(StatusChanged(ROOM, "m2", MessageStatus.ANSWERED))
    async with site.socket(channelId="room") as socket:
        whole_text = {"type": "delta", "messageId": "m1", "offset": 0, "text": "Once upon a time"}
        assert await socket.receive() == whole_text
        site.bus.publish(Delta(ROOM, "m1", 16, " there"))
        assert await socket.receive() == {"type": "delta", "messageId": "m1", "offset": 16, "text": " there"}
        await socket.send(type="ping")
        assert (await socket.receive())["type"] == "pong"


async def test_a_text_with_a_gap_is_not_shown_and_starts_again_with_its_next_beginning(site: Site) -> None:
    site.bus.publish(Delta(ROOM, "m1", 0, "One"))
    site.bus.publish(Delta(ROOM, "m1", 7, "three"))
    site.bus.publish(Delta(ROOM, "m2", 0, "Before the gap"))
    site.bus.publish(NoticesMissed())
    site.bus.publish(Delta(ROOM, "m1", 0, "Again"))
    async with site.socket(channelId="room") as socket:
        assert await socket.receive() == {"type": "delta", "messageId": "m1", "offset": 0, "text": "Again"}
        await socket.send(type="ping")
        assert (await socket.receive())["type"] == "pong"
