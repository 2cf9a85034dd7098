"""A draft whose delivery is unknown is found again by its key, on platforms that allow this."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from arvis.domain.messages import Address
from arvis.domain.platforms import Draft, DraftState
from arvis.ports.connector import FindsDrafts
from connectors.telegram.connector import TelegramConnector
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.slack_stage import SlackStage

ID = "01JX0000000000000000000001"
WINDOW_MS = 130_000


def draft_at(address: Address, id_: str = ID) -> Draft:
    return Draft("turn", id_, address, DraftState.SENDING, None, int(time.time() * 1000))


@pytest.mark.parametrize("open_stage", [discord_stage, SlackStage.open])
async def test_a_lost_draft_is_found(
    open_stage: Callable[[], AbstractAsyncContextManager[DiscordStage | SlackStage]],
) -> None:
    async with open_stage() as stage:
        connector = await stage.connector()
        assert isinstance(connector, FindsDrafts)
        for number, address in enumerate((stage.address(direct=True), stage.address(thread="plans"))):
            id_ = f"{ID[:-1]}{number}"
            shown = await connector.show_draft(address, id_, "thinking", ())
            assert await connector.find_draft(draft_at(address, id_)) == shown
            assert len(stage.shown(address)) == 1


async def test_slack_says_when_a_draft_does_not_stand_there() -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector()
        address = stage.address(direct=True)
        await connector.show_draft(address, ID, "thinking", ())
        assert await connector.find_draft(draft_at(address, "another")) is None


async def test_behind_discords_window_nobody_can_tell() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        address = stage.address(direct=True)
        draft = draft_at(address)
        stage.clock.ahead += WINDOW_MS
        assert await connector.find_draft(draft) is None
        assert not stage.shown(address)


def test_telegram_shows_nothing_again() -> None:
    assert not issubclass(TelegramConnector, FindsDrafts)
