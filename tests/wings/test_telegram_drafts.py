"""Typing signs and drafts while the bot works, the findings for `arvis doctor`, and the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from arvis.domain.messages import Button
from arvis.ports.connector import BadSetting, BotSettings, Capabilities, ChecksSetup, ConnectorServices, Guarantee
from arvis.testing.clock import SteppedClock
from connectors.telegram import create
from connectors.telegram.client import Client
from connectors.telegram.outgoing import Drafts
from connectors.telegram.settings import TelegramConfig
from tests.platforms.telegram_stage import TOKEN, TelegramStage

KEY = "01JX0000000000000000000001"
STOP = (Button("stop:1", "Stop"),)


class Scene:
    def __init__(self, *, stage: TelegramStage) -> None:
        self.stage = stage
        self.clock = SteppedClock()
        self.client = Client(config=TelegramConfig.model_validate({"token": TOKEN, "api_url": stage.server.url}))
        self.drafts = Drafts(client=self.client, clock=self.clock)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with TelegramStage.open() as stage:
        opened = Scene(stage=stage)
        yield opened
        await opened.client.close()


async def test_a_person_sees_a_draft_that_vanishes(scene: Scene) -> None:
    address = scene.stage.address(direct=True)
    for text in ("I", "I think **so**", "word " * 2000):
        assert await scene.drafts.show(address, KEY, text, ()) is None
    [draft] = scene.stage.private("ann").drafts.values()
    assert draft.startswith("word word")
    assert not scene.stage.shown(address)


async def test_a_draft_with_buttons_is_a_message(scene: Scene) -> None:
    address = scene.stage.address(direct=True)
    shown = await scene.drafts.show(address, KEY, "working", STOP)
    assert shown is not None
    await scene.drafts.change(address, shown, "working", STOP)
    assert [one.buttons for one in scene.stage.shown(address)] == [("stop:1",)]


async def test_a_server_without_drafts_is_asked_once(scene: Scene) -> None:
    scene.stage.server.methods.unknown.add("sendmessagedraft")
    address = scene.stage.address(direct=True)
    for _ in range(2):
        assert await scene.drafts.show(address, KEY, "I", ()) is not None
    assert scene.stage.server.counts["sendmessagedraft"] == 1


async def test_groups_are_changed_every_three_seconds_at_most(scene: Scene) -> None:
    address = scene.stage.address()
    shown = await scene.drafts.show(address, KEY, "0", ())
    assert shown is not None
    for second in range(1, 8):
        await scene.clock.sleep(1)
        await scene.drafts.change(address, shown, str(second), ())
    assert [one.text for one in scene.stage.shown(address)] == ["7"]
    assert scene.stage.server.counts["editmessagetext"] == 3


async def test_what_a_crash_could_leave_says_nothing(scene: Scene) -> None:
    address = scene.stage.address()
    shown = await scene.drafts.show(address, KEY, "half a sent", ())
    assert shown is not None
    assert [one.text for one in scene.stage.shown(address)] == ["…"]
    await scene.drafts.change(address, shown, "half a sentence", ())
    assert [one.text for one in scene.stage.shown(address)] == ["half a sentence"]


async def test_typing_in_a_topic(scene: Scene) -> None:
    await scene.drafts.typing(scene.stage.address(thread="plans"))
    assert scene.stage.room("room").actions == ["typing"]


async def findings(stage: TelegramStage, **settings: Any) -> list[tuple[str, str]]:
    connector = await stage.connector(**settings)
    assert isinstance(connector, ChecksSetup)
    return [(finding.level, finding.text) for finding in await connector.check()]


async def test_what_doctor_is_told() -> None:
    async with TelegramStage.open() as stage:
        assert await findings(stage) == [("ok", "The bot is @arvis_bot")]
        stage.bot.reads_all = False
        stage.bot.webhook = "https://other.example"
        told = await findings(stage)
        assert [level for level, _ in told] == ["ok", "warning", "warning"]
        assert "Privacy mode" in told[1][1]
        assert "webhook" in told[2][1]
        stage.bot.webhook = ""
        assert await findings(stage, observe=0) == [("ok", "The bot is @arvis_bot")]
        assert (await findings(stage, token="1:wrong"))[0][0] == "error"
        assert "reached" in (await findings(stage, api_url="http://127.0.0.1:1"))[0][1]
        assert not {"deletewebhook", "getupdates"} & set(stage.server.counts)


def made(values: Mapping[str, Any], guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> Capabilities:
    services = ConnectorServices(clock=SteppedClock(), commands=(), guarantee=guarantee)
    return create(BotSettings("main", {"token": TOKEN, **values}), services).capabilities


def test_who_says_what_becomes_of_interrupted_sends() -> None:
    assert made({}).guarantee is Guarantee.AT_LEAST_ONCE
    assert made({}, Guarantee.AT_MOST_ONCE).guarantee is Guarantee.AT_MOST_ONCE
    assert made({}, Guarantee.IDEMPOTENT).guarantee is Guarantee.AT_LEAST_ONCE
    assert made({"delivery": "reserve_then_fill"}, Guarantee.AT_MOST_ONCE).guarantee is Guarantee.RESERVE_THEN_FILL
    capabilities = made({"late_after": "5m", "late": "drop"})
    assert (capabilities.late_after, capabilities.late) == (300_000, "drop")


@pytest.mark.parametrize(
    "values", [{"token": ""}, {"api_url": "ftp://x"}, {"delivery": "exactly_once"}, {"tokem": "1"}]
)
def test_wrong_settings_are_named_without_their_value(values: dict[str, Any]) -> None:
    with pytest.raises(BadSetting) as caught:
        made(values)
    assert caught.value.key == next(iter(values))
    assert TOKEN not in str(caught.value)
