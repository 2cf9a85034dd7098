"""The poll loop, with the real client library: an update is confirmed only after it is stored, and no failure blocks
the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from arvis.domain.errors import Unavailable
from arvis.domain.messages import Button, IncomingMessage
from arvis.ports.connector import TokenRefused
from arvis.ports.inbox import Received
from arvis.testing.conformance.connector_stage import delivery, running, send_all
from tests.platforms.recording_inbox import RecordingInbox
from tests.platforms.telegram_stage import TOKEN, TelegramStage


@pytest.fixture
async def stage() -> AsyncIterator[TelegramStage]:
    async with TelegramStage.open() as opened:
        yield opened


class FullInbox(RecordingInbox):
    """An inbox that accepts `room` messages and then fails."""

    def __init__(self, *, room: int) -> None:
        super().__init__()
        self._room = room
        self.is_full = asyncio.Event()

    async def receive(self, message: IncomingMessage) -> Received:
        if len(self.messages) >= self._room:
            self.is_full.set()
            raise Unavailable("no room")
        return await super().receive(message)


def offsets(stage: TelegramStage) -> list[int]:
    """Return the confirmed offset of each request (0: none)."""
    return [int(one.parameters.get("offset", 0)) for one in stage.server.requests if one.method == "getupdates"]


async def test_what_was_not_kept_comes_again_after_a_restart_and_nothing_twice(stage: TelegramStage) -> None:
    inbox = FullInbox(room=2)
    async with running(await stage.connector(), inbox):
        for text in ("one", "two", "three", "four"):
            await stage.say(text)
        await inbox.is_full.wait()
    assert max(offsets(stage)) <= 1002
    after = RecordingInbox(positions={"updates": 1001})
    async with running(await stage.connector(), after):
        await after.message("four")
        await stage.say("five")
        await after.message("five")
    kept = dict.fromkeys([*inbox.contents, *after.contents])
    assert list(kept) == ["one", "two", "three", "four", "five"]
    assert [one.event_id for one in after.messages][-3:] == ["u1002", "u1003", "u1004"]
    assert after.positions == {"updates": 1004}


async def test_an_offset_is_the_last_kept_update_and_one(stage: TelegramStage) -> None:
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        for text in ("one", "two"):
            await stage.say(text)
            await inbox.message(text)
        stage.bot.polled.clear()
        await stage.say("three")
        await inbox.message("three")
        await stage.bot.polled.wait()
    assert offsets(stage)[0] == 0
    assert offsets(stage)[-1] == 1003
    assert inbox.positions == {"updates": 1002}


async def test_ids_that_begin_anew_lower_are_read(stage: TelegramStage) -> None:
    inbox = RecordingInbox(positions={"updates": 900_000_000})
    await stage.say("after a quiet week")
    async with running(await stage.connector(), inbox):
        await inbox.message("after a quiet week")
        await stage.say("and another")
        await inbox.message("and another")


async def test_what_is_nothing_to_us_is_passed(stage: TelegramStage) -> None:
    inbox = RecordingInbox()
    stage.tell(stage.room("room"), stage.person("ann"), new_chat_title="New name")
    stage.bot.push("message", {"message_id": "no number", "chat": {}})
    async with running(await stage.connector(), inbox):
        await inbox.until(lambda: inbox.reached)
        await stage.say("hello")
        await inbox.message("hello")
    assert inbox.reached[0] == "passed"
    assert inbox.positions == {"updates": 1002}


async def test_a_click_is_answered_and_its_buttons_go(stage: TelegramStage) -> None:
    inbox, connector, address = RecordingInbox(), await stage.connector(), stage.address(direct=True)
    async with running(connector, inbox):
        await send_all(connector, delivery(address, "Shall I?", buttons=[Button("yes", "Yes")]))
        await stage.click(stage.shown(address)[0].platform_id, "yes")
        await inbox.until(lambda: inbox.clicks)
        await stage.server.until(lambda: stage.server.counts["editmessagereplymarkup"] > 0)
        await stage.server.until(lambda: stage.shown(address)[0].buttons == ())
    assert not stage.bot.queries
    [answer] = [one for one in stage.server.requests if one.method == "answercallbackquery"]
    assert answer.parameters["text"] == "Noted."
    assert [(one.text, one.buttons) for one in stage.shown(address)] == [("Shall I?", ())]


async def test_moves_and_blocks_reach_the_inbox(stage: TelegramStage) -> None:
    inbox, ann = RecordingInbox(), stage.person("ann")
    old = stage.room("old")
    stage.tell(old, ann, migrate_to_chat_id=-5)
    private = stage.private("ann").document
    for status in ("kicked", "member"):
        before = {"status": "member", "user": stage.bot.user}
        now = {"status": status, "user": stage.bot.user, "until_date": 0}
        change = {"chat": private, "from": ann, "date": 1, "old_chat_member": before, "new_chat_member": now}
        stage.bot.push("my_chat_member", change)
    async with running(await stage.connector(), inbox):
        await inbox.until(lambda: len(inbox.reached) == 3)
    assert inbox.reached == [f"move {old.id} -5", f"unreachable {ann['id']}", f"reachable {ann['id']}"]


async def test_a_start_takes_the_updates_and_lists_the_commands_once(stage: TelegramStage) -> None:
    stage.bot.webhook = "https://other.example/hook"
    await stage.say("waiting")
    for _ in range(2):
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox) as up:
            await inbox.message("waiting")
        assert (up.user_id, up.user_name) == ("123456", "@arvis_bot")
        stage.bot.pending = list(stage.bot.past)
    assert [command["command"] for command in stage.bot.commands] == ["help", "stop"]
    assert stage.server.counts["setmycommands"] == 1


@pytest.mark.parametrize("token", ["123456:wrong", "nonsense"])
async def test_a_wrong_token_is_said_without_it(stage: TelegramStage, token: str) -> None:
    connector = await stage.connector(token=token)
    with pytest.raises(TokenRefused) as caught:
        await connector.run(RecordingInbox(), lambda _: None)
    assert "BotFather" in str(caught.value)
    assert token not in str(caught.value)


async def test_two_pollers_are_told(stage: TelegramStage) -> None:
    first = asyncio.create_task((await stage.connector()).run(RecordingInbox(), lambda _: None))
    await stage.bot.polled.wait()
    async with running(await stage.connector(), RecordingInbox()):
        with pytest.raises(ConnectionError, match="another process polls with this token"):
            await first


async def test_a_platform_out_of_reach_is_weather(stage: TelegramStage) -> None:
    connector = await stage.connector(api_url="http://127.0.0.1:1")
    with pytest.raises(ConnectionError, match="unreachable"):
        await connector.run(RecordingInbox(), lambda _: None)


async def test_no_line_of_the_log_holds_the_token(stage: TelegramStage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    inbox, connector = RecordingInbox(), await stage.connector()
    async with running(connector, inbox):
        await stage.say("hello")
        await inbox.message("hello")
        await send_all(connector, delivery(stage.address(direct=True), "hi"))
    assert TOKEN.partition(":")[2] not in caplog.text
