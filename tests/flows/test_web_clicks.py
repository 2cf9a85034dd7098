"""A click on the daemon's own button answers its question; any other button's click is a message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.web_script import web_address
from tests.flows.web_server import Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_a_button_of_the_daemon_is_a_click(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        await socket.send(type="click", buttonId="wait.01ABC.0", id="c1")
        told = await socket.until("clicked")
        assert (told["buttonId"], told["text"], told["done"]) == ("wait.01ABC.0", "Noted.", True)
    (click,) = site.inbox.clicks
    assert (click.address, click.event_id, click.data) == (web_address("room"), "c1", "wait.01ABC.0")
    assert site.inbox.received == []


async def test_a_button_that_stops_is_one_of_them(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        await socket.send(type="click", buttonId="stop.01ABC")
        await socket.until("clicked")
    assert [click.data for click in site.inbox.clicks] == ["stop.01ABC"]
