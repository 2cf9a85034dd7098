"""Notices of other processes: deliveries that they sent are shown once and in order, and ended logins end here, too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.domain.errors import StoreError
from arvis.domain.events import DeliveryAdded, Event, NoticesMissed
from arvis.ports.connector import SendError
from arvis.web.api.messages import StatusWaiter
from arvis.web.http.identity import ANONYMOUS
from arvis.web.realtime.connector import WebConnector
from tests.flows.web_script import a_delivery, a_part, web_address
from tests.flows.web_server import Site, running_site

ROOM = web_address("room")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_a_gap_in_the_numbers_is_filled_from_the_database(site: Site) -> None:
    """Another process may have sent the delivery between, and its notice may still be on its way."""
    async with site.socket(channelId="room", lastSeq=0) as socket:
        site.insights.deliveries[ROOM] = [a_delivery(seq, ROOM) for seq in (1, 2, 3)]
        await site.connector.send(a_part(3, ROOM))
        site.bus.publish(DeliveryAdded(ROOM))
        assert [(await socket.until("message"))["seq"] for _ in range(3)] == [1, 2, 3]
        await socket.send(type="ping")
        assert await socket.receive() == {"type": "pong"}


@pytest.mark.parametrize("notice", [DeliveryAdded(ROOM), NoticesMissed()])
async def test_what_other_processes_sent_is_shown_at_their_notice(site: Site, notice: Event) -> None:
    async with site.socket(channelId="room") as socket:
        site.insights.deliveries[ROOM] = [a_delivery(seq, ROOM) for seq in (1, 2)]
        site.bus.publish(notice)
        assert [(await socket.until("message"))["seq"] for _ in range(2)] == [1, 2]


async def test_a_delivery_is_not_sent_before_the_other_processes_were_told() -> None:
    told: list[DeliveryAdded] = []

    async def tell(event: DeliveryAdded) -> None:
        told.append(event)
        if len(told) == 1:
            raise StoreError("Notices between processes do not pass")

    connector = WebConnector(notify_others=tell)
    with pytest.raises(SendError) as failed:
        await connector.send(a_part(1, ROOM))
    assert failed.value.retry_after == 1.0
    assert (await connector.send(a_part(1, ROOM))).platform_id == "d1"
    assert told == [DeliveryAdded(ROOM)] * 2


async def test_who_waits_for_a_message_looks_again_when_notices_were_missed(site: Site) -> None:
    board = StatusWaiter(access=site.parts.access)
    with board.listening(site.bus), board.watch("m1", ANONYMOUS) as watch:
        site.bus.publish(NoticesMissed())
        await watch.changed(timeout=5)
        assert not watch.closed
