"""Messages that a Discord bot missed while it was not connected."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from arvis.domain.messages import IncomingMessage
from arvis.ports.connector import TokenRefused
from arvis.ports.inbox import Received
from arvis.testing.conformance.connector_stage import running
from connectors.discord.catching_up import CatchingUp, Event
from connectors.discord.client import Endpoints
from connectors.discord.rest import Rest
from tests.platforms.discord_stage import discord_stage
from tests.platforms.recording_inbox import RecordingInbox

_DAY = 86_400


async def test_a_lost_connection_is_resumed_and_nothing_is_missing() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("before")
            await inbox.message("before")
            await stage.drop_connections()
            for number in range(5):
                await stage.say(f"meanwhile {number}")
            await stage.server.gateway.until("resumed", 1)
            await stage.say("after")
            await inbox.message("after")
        assert inbox.contents == ["before", *(f"meanwhile {number}" for number in range(5)), "after"]
        assert stage.server.gateway.identified == 1


async def test_what_no_session_remembers_is_read_from_the_history() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            for direct in (True, False):
                await stage.say("before", direct=direct)
            await inbox.until(lambda: len(inbox.messages) > 1)
        for number in range(130):
            await stage.say(f"missed {number}", direct=bool(number % 2))
        await stage.say("in a thread", direct=False, thread="new plans")
        await stage.say("in a new channel", direct=False, channel="garden")
        async with running(await stage.connector(), inbox):
            await stage.say("live")
            await inbox.until(lambda: len(inbox.messages) == 135)
        missed = [f"missed {number}" for number in range(130)]
        alone = [message.content for message in inbox.messages[2:] if message.is_direct]
        assert alone == [*missed[1::2], "live"]
        room = [message.content for message in inbox.messages[2:] if message.address == stage.address()]
        assert room == missed[::2]
        assert {"in a thread", "in a new channel"} <= set(inbox.contents)
        assert inbox.messages[2].files == ()


async def test_a_direct_message_is_found_although_nothing_happens_there() -> None:
    async with discord_stage() as stage:
        known = await stage.say("known")
        await stage.say("missed")
        inbox = RecordingInbox(positions={stage.place(direct=True)["id"]: int(known)})
        async with running(await stage.connector(), inbox):
            await inbox.message("missed")


async def test_what_was_said_where_nobody_listened_yet_is_not_read() -> None:
    async with discord_stage() as stage:
        garden = stage.place("garden")
        await stage.server.say("an hour ago", channel=garden, at=time.time() - 3_600)
        inbox = RecordingInbox(positions={stage.place()["id"]: int(stage.server.world.new_id())})
        async with running(await stage.connector(), inbox):
            await stage.server.say("now", channel=garden)
            await inbox.message("now")
        assert inbox.contents == ["now"]


async def test_a_channel_that_is_new_is_read_although_others_were_read_further_before_a_crash() -> None:
    async with discord_stage() as stage:
        garden = stage.place("garden")
        await stage.server.say("missed", channel=garden, at=time.time() - 60)
        inbox = RecordingInbox(positions={stage.place()["id"]: int(stage.server.world.new_id())})
        async with running(await stage.connector(), inbox):
            await inbox.message("missed")


async def test_live_messages_wait_for_those_before_them() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("before")
            await inbox.message("before")
            stage.server.gateway.forget()
            stage.server.hold_history()
            await stage.drop_connections()
            await stage.say("missed")
            await stage.server.gateway.until("identified", 2)
            await stage.say("live")
            await stage.say("elsewhere", direct=False)
            await stage.server.until_asked("GET", "/messages")
            position = inbox.positions[stage.place(direct=True)["id"]]
            assert inbox.contents == ["before"]
            assert position == int(inbox.messages[0].event_id)
            stage.server.release_history()
            await inbox.until(lambda: len(inbox.messages) == 4)
        assert [message.content for message in inbox.messages if message.is_direct] == ["before", "missed", "live"]


async def test_what_is_older_than_a_week_is_left() -> None:
    async with discord_stage() as stage:
        room = stage.place()
        inbox = RecordingInbox(positions={room["id"]: 1})
        await stage.server.say("long ago", channel=room, at=time.time() - 8 * _DAY)
        await stage.server.say("lately", channel=room, at=time.time() - 60)
        async with running(await stage.connector(), inbox):
            await inbox.message("lately")
        assert inbox.contents == ["lately"]


async def test_a_first_run_reads_no_history() -> None:
    async with discord_stage() as stage:
        await stage.say("before there was a bot", direct=False)
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("hello", direct=False)
            await inbox.message("hello")
        assert inbox.contents == ["hello"]


async def test_a_full_disk_delays_what_comes_and_loses_nothing() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            inbox.refuse(3)
            for text in ("one", "two", "three"):
                await stage.say(text)
            await inbox.message("three")
        assert inbox.contents == ["one", "two", "three"]
        assert len(inbox.refused) == 3


async def test_what_the_bot_wrote_itself_is_not_read_again_and_again() -> None:
    async with discord_stage() as stage:
        room, world = stage.place(), stage.server.world
        inbox = RecordingInbox(positions={room["id"]: int(world.new_id())})
        last = world.add_message(room, world.bot, "mine")
        async with running(await stage.connector(), inbox):
            await inbox.until(lambda: inbox.positions[room["id"]] == int(last["id"]))
        assert not inbox.messages


async def test_connections_that_break_at_once_make_no_storm() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            stage.server.gateway.mute = True
            await stage.drop_connections()
            await asyncio.sleep(1.5)
            connected = stage.server.gateway.connected
            assert len(connected) <= 3
            stage.server.gateway.mute = False
            await stage.server.gateway.until("resumed", 1)


@pytest.mark.parametrize("wrong", ["token", "intents", "version"])
async def test_a_bot_that_is_not_let_in_says_what_to_do(wrong: str) -> None:
    async with discord_stage() as stage:
        values: dict[str, Any] = {"token": "something.else"} if wrong == "token" else {}
        if wrong == "intents":
            stage.server.world.flags = 0
        if wrong == "version":
            stage.server.gateway.refuses = 4012
        connector = await stage.connector(**values)
        with pytest.raises(TokenRefused) as refused:
            async with asyncio.timeout(10):
                await connector.run(RecordingInbox(), lambda _: None)
        assert "something.else" not in str(refused.value)
        assert {"token": "token", "intents": "intent", "version": "4012"}[wrong] in str(refused.value)


async def test_more_than_fits_into_memory_waits_in_the_history() -> None:
    async with discord_stage() as stage:
        stage.server.hold_history()
        start = await stage.say("long known", direct=False)
        await stage.say("missed", direct=False)
        inbox = RecordingInbox(positions={stage.place()["id"]: int(start)})
        async with running(await stage.connector(), inbox):
            await stage.server.until_asked("GET", "/messages")
            texts = [f"number {number}" for number in range(620)]
            refs = [await stage.say(text, direct=False) for text in texts]
            await stage.edit(refs[0], "number 0")
            stage.server.release_history()
            await inbox.message(texts[-1])
        assert inbox.contents == ["missed", *texts]


async def test_an_edit_waits_for_its_message() -> None:
    async with discord_stage() as stage:
        stage.server.hold_history()
        start = await stage.say("long known", direct=False)
        await stage.say("missed", direct=False)
        inbox = RecordingInbox(positions={stage.place()["id"]: int(start)})
        async with running(await stage.connector(), inbox):
            await stage.server.until_asked("GET", "/messages")
            ref = await stage.say("teh", direct=False)
            await stage.edit(ref, "the")
            await stage.say("elsewhere")
            await stage.server.until_asked("GET", "/messages")
            assert not inbox.edits
            stage.server.release_history()
            await inbox.until(lambda: inbox.edits)
        assert inbox.reached.index(ref) < inbox.reached.index(inbox.edits[0].event_id)


async def test_a_fault_of_the_inbox_is_not_taken_for_nonsense_of_discord() -> None:
    class Broken(RecordingInbox):
        async def receive(self, message: IncomingMessage) -> Received:
            raise KeyError(message.content)

    async with discord_stage() as stage:
        run = asyncio.create_task((await stage.connector()).run(Broken(), lambda _: None))
        await stage.server.gateway.until("identified", 1)
        await stage.say("hello")
        with pytest.raises(KeyError):
            await run


async def test_a_flood_while_what_was_held_is_handed_in_loses_nothing() -> None:
    async with discord_stage() as stage:
        room, world, ann = stage.place(), stage.server.world, stage.server.world.person("ann")
        known, first = (world.add_message(room, ann, text) for text in ("known", "first"))
        endpoints = Endpoints.of(stage.server.api_url, None)
        rest = Rest(token=stage.server.token, endpoints=endpoints, jitter=lambda: 0.0)
        brought: list[str] = []
        flood: list[str] = []

        async def hand_in(name: str, data: Event, *, live: bool = False, moves: bool = True) -> None:
            if name != "MESSAGE_CREATE":
                return
            brought.append(data["id"])
            if brought.count(first["id"]) == 2 and not flood:  # the second time, it was held back
                for number in range(620):
                    message = world.add_message(room, ann, f"{number}")
                    flood.append(message["id"])
                    await catching_up.live(room["id"], name, message)

        async with asyncio.TaskGroup() as tasks:
            inbox = RecordingInbox(positions={room["id"]: int(known["id"])})
            catching_up = CatchingUp(
                bot="main", inbox=inbox, rest=rest, clock=stage.clock, hand_in=hand_in, tasks=tasks, longest_hold=3_000
            )
            await catching_up.gap()
            await catching_up.live(room["id"], "MESSAGE_CREATE", first)
        await rest.close()
        assert list(dict.fromkeys(brought)) == [first["id"], *flood]
