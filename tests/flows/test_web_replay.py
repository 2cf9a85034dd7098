"""Resuming by `lastSeq` from the real database: each delivery appears once, in order, and only for its people."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from arvis.domain.messages import Address, Delivery, MessageStatus, Role, StoredMessage
from arvis.ports.store import Transaction
from tests.flows.web_script import NOW, a_delivery, web_address, whole
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, Site, Socket, running_site

ROOM = web_address("room")
DELIVERIES = 300


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


def answered(tx: Transaction, address: Address) -> Delivery:
    """Store an answer with its delivery, numbered by the channel's counter."""
    message = StoredMessage(
        id=tx.new_id(), conversation_id=None, role=Role.ASSISTANT, content="x", tokens=1,
        status=MessageStatus.ANSWERED, address=address, principal_id=None, user_name="", agent_id=None,
        execution_id=None, turn=None, created_at=NOW,
    )  # fmt: skip
    tx.messages.add(message)
    delivery = replace(a_delivery(tx.deliveries.next_seq(address), address), id=tx.new_id(), message_id=message.id)
    tx.deliveries.add(delivery)
    return delivery


async def answer(site: Site, address: Address) -> Delivery:
    """Store the row, then push the delivery, as the flow does."""
    delivery = await site.store.write(answered, address)
    await site.connector.send(whole(delivery))
    return delivery


async def seen_by(socket: Socket, count: int) -> list[int]:
    """Return the numbers of the next `count` deliveries, or of fewer if the connection breaks."""
    seen: list[int] = []
    try:
        while len(seen) < count:
            seen.append((await socket.until("message"))["seq"])
    except ConnectionClosed:
        pass
    return seen


async def test_a_connection_that_breaks_all_the_time_shows_everything_once(site: Site) -> None:
    dice = random.Random(7)

    async def answering() -> None:
        for _ in range(DELIVERIES):
            await answer(site, ROOM)
            await asyncio.sleep(dice.choice((0, 0, 0.002)))

    task = asyncio.create_task(answering())
    screen: list[int] = []
    connections = 0
    while len(screen) < DELIVERIES:
        async with site.socket(channelId="room", lastSeq=screen[-1] if screen else 0) as socket:
            connections += 1
            screen += await seen_by(socket, min(dice.randint(1, 20), DELIVERIES - len(screen)))
            socket.connection.transport.abort()
    await task
    assert screen == list(range(1, DELIVERIES + 1))
    assert connections > 10


async def test_people_who_share_a_channel_do_not_read_one_another(site: Site) -> None:
    channel = "dashboard-agent-helper"
    threads = []
    for key in (CHAT_KEY, AGENT_KEY):
        sent = await site.call("POST", "/api/messages", key=key, json={"content": "x", "channelId": channel, "id": "1"})
        assert sent.status == 202
        threads.append(site.inbox.received[-1].address.thread)
    assert len(set(threads)) == 2
    assert site.inbox.received[0].event_id != site.inbox.received[1].event_id
    for thread in (threads[0], threads[1], "", threads[0]):
        await answer(site, web_address(channel, thread))
    async with site.socket(apiKey=CHAT_KEY, channelId=channel, lastSeq=0) as socket:
        await answer(site, web_address(channel, threads[1]))
        await answer(site, web_address(channel, threads[0]))
        assert await seen_by(socket, 3) == [1, 4, 6]
