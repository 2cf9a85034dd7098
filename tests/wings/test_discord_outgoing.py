"""Outgoing messages of a Discord bot, with the real client and a loopback server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from arvis.domain.messages import Address, Button, ButtonStyle, OutgoingFile
from arvis.domain.platforms import Part
from arvis.ports.connector import BotSettings, ConnectorServices, FetchError, Guarantee, SetupFinding
from arvis.testing.conformance.connector_stage import delivery, failure_of, parts_of, running, send_all
from connectors.discord import create
from connectors.discord.connector import DiscordConnector
from connectors.discord.files import source_of
from connectors.discord.outgoing import nonce_of
from connectors.discord.rest import first_at, made_at
from tests.platforms.discord_stage import discord_stage
from tests.platforms.recording_inbox import RecordingInbox

_ID = "01JD0000000000000000000001"
_LATER_MS = 10 * 60_000


def part_of(connector: DiscordConnector, address: Address, text: str = "only once") -> Part:
    [part] = parts_of(connector, delivery(address, text))
    return part


def test_a_nonce_is_short_and_tells_parts_apart() -> None:
    nonces = {nonce_of(key) for key in (_ID, f"{_ID}.0", f"{_ID}.1", f"{_ID}.999", f"{_ID[:-1]}2.1")}
    assert len(nonces) == 5
    assert all(len(nonce) <= 25 for nonce in nonces)
    assert nonce_of(f"{'7' + 'Z' * 25}.0") == "_" * 21 + "w0"
    for wrong in ("", "short.1", f"{_ID}.1000", f"{_ID[:-1]}U.1"):
        with pytest.raises(ValueError, match="is not a key"):
            nonce_of(wrong)


def test_a_snowflake_tells_its_time() -> None:
    assert made_at("175928847299117063") == 1_462_015_105_796  # the example of Discord's documentation
    assert made_at(str(first_at(1_462_015_105_796))) == 1_462_015_105_796


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_send_that_was_cut_off_is_there_once(after: bool) -> None:
    async with discord_stage() as stage:
        connector, address = await stage.connector(), stage.address()
        part = part_of(connector, address)
        stage.reset_sends(1, after=after)
        error = await failure_of(connector, part)
        assert error is not None
        assert error.uncertain
        tried = replace(part, tried_at=stage.clock.now())
        assert await connector.find(tried) is None
        await connector.send(tried)
        assert len(stage.shown(address)) == 1


@pytest.mark.parametrize("arrived", [True, False])
async def test_after_the_window_the_history_tells(arrived: bool) -> None:
    async with discord_stage() as stage:
        connector, address = await stage.connector(), stage.address()
        part = part_of(connector, address)
        tried = replace(part, tried_at=stage.clock.now())
        stage.reset_sends(1, after=arrived)
        await failure_of(connector, part)
        for number in range(150):
            stage.server.world.add_message(stage.place(), stage.server.world.person("ann"), f"{number}")
        stage.server.world.nonce_window = 0
        stage.clock.ahead = _LATER_MS
        found = await connector.find(tried)
        assert (found is not None) is arrived
        assert [one.platform_id for one in stage.shown(address)] == ([found.platform_id] if found else [])
        other = replace(part_of(connector, address, "something else"), tried_at=tried.tried_at)
        assert await connector.find(other) is None


async def test_what_stood_there_before_is_not_taken_for_the_part() -> None:
    async with discord_stage() as stage:
        connector, address = await stage.connector(), stage.address()
        world = stage.server.world
        world.add_message(stage.place(), world.bot, "only once", at=time.time() - 3_600)
        world.add_message(stage.place(), world.person("ann"), "only once")
        stage.clock.ahead = _LATER_MS
        tried = replace(part_of(connector, address), tried_at=stage.clock.now() - _LATER_MS)
        assert await connector.find(tried) is None


async def test_a_global_rate_limit_stops_all_sends() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        stage.server.refuse_sends(1, retry_after=0.4, everywhere=True)
        for address in (stage.address(), stage.address(direct=True)):
            error = await failure_of(connector, part_of(connector, address))
            assert error is not None
            assert error.retry_after is not None
            assert 0.3 < error.retry_after <= 0.4
        assert len(stage.sends) == 1
        await asyncio.sleep(0.4)
        await connector.send(part_of(connector, stage.address()))
        assert len(stage.shown(stage.address())) == 1


async def test_more_files_than_one_message_takes() -> None:
    async with discord_stage() as stage:
        connector, address = await stage.connector(), stage.address()
        files = [OutgoingFile(f"{number}.txt", "text/plain", 1, content="x") for number in range(12)]
        await send_all(connector, delivery(address, "all of them", files=files, buttons=[Button("a", "b")]))
        assert [len(one.files) for one in stage.shown(address)] == [10, 2]


async def test_a_part_whose_thread_was_never_started_is_looked_for_beside_it() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        ref = await stage.say("a question", direct=False)
        place = replace(stage.address(), thread=ref)
        tried = replace(part_of(connector, place), tried_at=stage.clock.now() - _LATER_MS)
        assert await connector.find(tried) is None
        world = stage.server.world
        sent = world.add_message(stage.place(), world.bot, "only once")
        found = await connector.find(tried)
        assert found is not None
        assert found.platform_id == sent["id"]


@pytest.mark.parametrize(
    ("status", "code", "gone"),
    [(403, 50001, True), (403, 50007, True), (403, 50013, True), (403, 50278, True), (400, 50035, False)],
)
async def test_refusals_for_good(status: int, code: int, gone: bool) -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        stage.server.refuse_sends(1, status=status, code=code)
        error = await failure_of(connector, part_of(connector, stage.address()))
        assert error is not None
        assert (error.permanent, error.gone, error.retry_after) == (True, gone, None)


async def test_a_channel_that_is_not_there_takes_nothing() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        for place in (Address("discord", "main", "12345"), Address("discord", "main", "general")):
            error = await failure_of(connector, part_of(connector, place))
            assert error is not None
            assert error.gone


async def test_without_discord_nothing_is_uncertain() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector(api_url="http://127.0.0.1:9/api/v10")
        error = await failure_of(connector, part_of(connector, stage.address()))
        assert error is not None
        assert (error.uncertain, error.retry_after) == (False, 30.0), "it is waited for"
        assert not error.permanent
        assert [finding.level for finding in await connector.check()] == ["error"]


async def test_an_empty_message_is_never_sent() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        error = await failure_of(connector, part_of(connector, stage.address(), "  \n"))
        assert error is not None
        assert error.permanent
        assert not stage.server.asked


async def test_a_thread_is_started_from_the_question() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        connector = await stage.connector(reply_in="thread")
        async with running(connector, inbox):
            ref = await stage.say("How do   I bake bread?", direct=False)
            asked = await inbox.message("How do   I bake bread?")
            assert asked.address.thread == ref
            draft = await connector.show_draft(asked.address, _ID, "thinking", ())
            await connector.change_draft(asked.address, draft or "", "thinking harder", ())
            await connector.send(replace(part_of(connector, asked.address, "Slowly."), platform_id=draft))
            await stage.server.say("And then?", channel=stage.server.world.channels[ref])
            further = await inbox.message("And then?")
        assert stage.server.world.channels[ref]["name"] == "How do I bake bread?"
        assert further.address == asked.address
        assert [one.text for one in stage.shown(asked.address)] == ["Slowly."]
        assert not stage.shown(stage.address())


async def test_where_no_thread_can_be_started_the_channel_takes_the_answer() -> None:
    async with discord_stage() as stage:
        ref = await stage.say("gone soon", direct=False)
        await stage.delete(ref)
        connector = await stage.connector()
        place = replace(stage.address(), thread=ref)
        draft = await connector.show_draft(place, _ID, "thinking", ())
        await connector.send(replace(part_of(connector, place, "Here."), platform_id=draft))
        assert [one.text for one in stage.shown(stage.address())] == ["Here."]


async def test_buttons_stand_in_rows() -> None:
    async with discord_stage() as stage:
        buttons = [Button(f"pick:{number}", f"Number {number}" * 20, ButtonStyle.DANGER) for number in range(7)]
        await send_all(await stage.connector(), delivery(stage.address(), "", buttons=buttons))
        [message] = stage.server.world.messages[stage.place()["id"]].values()
        assert [len(row["components"]) for row in message["components"]] == [5, 2]
        assert message["flags"] == 4


async def test_a_file_of_the_store_goes_out_with_its_bytes() -> None:
    async with discord_stage() as stage:
        connector, address = await stage.connector(), stage.address()
        file = OutgoingFile("picture.png", "image/png", 4, sha256="ab" * 32)
        [part] = parts_of(connector, delivery(address, "look", files=[file]))
        await connector.send(replace(part, data={file.sha256: b"\x89PNG"}))
        assert b"\x89PNG" in stage.server.world.files.values()


async def test_an_address_of_a_file_that_has_expired_is_renewed() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        ref = await stage.say_file("notes.txt", "text/plain", b"hello")
        channel = stage.place(direct=True)["id"]
        file = stage.server.world.messages[channel][ref]["attachments"][0]
        old = source_of(channel, ref, file | {"url": f"{stage.server.rest.base}/attachments/1/notes.txt"})
        assert await connector.fetch(old, 100) == b"hello"
        await stage.delete(ref)
        with pytest.raises(FetchError) as gone:
            await connector.fetch(old, 100)
        assert gone.value.permanent


async def test_a_file_that_hides_its_size_is_not_read_further_than_allowed() -> None:
    async with discord_stage() as stage:
        stage.server.rest.hides_sizes = True
        connector = await stage.connector()
        file = stage.server.file("notes.txt", "text/plain", b"x" * 1_000)
        assert len(await connector.fetch(source_of("1", "2", file), 1_000)) == 1_000
        with pytest.raises(FetchError, match="larger"):
            await connector.fetch(source_of("1", "2", file), 999)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "https://cdn.discordapp.com.evil.example/a",
        "http://cdn.discordapp.com/a",
        "https://cdn.discordapp.com:22/a",
        "https://me@evil.example/cdn.discordapp.com",
        "/attachments/1",
    ],
)
async def test_files_are_fetched_from_nowhere_else(url: str) -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        with pytest.raises(FetchError, match="not on Discord") as refused:
            await connector.fetch(source_of("1", "2", {"id": "3", "url": url}), 100)
        assert refused.value.permanent


async def test_a_setup_as_it_should_be() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        assert [finding.level for finding in await connector.check()] == ["ok"]


async def test_a_setup_that_lacks_something_says_what() -> None:
    async with discord_stage() as stage:
        stage.server.world.flags = 0
        stage.server.world.permissions = 1 << 10 | 1 << 11
        findings = await (await stage.connector()).check()
        assert _told(findings, "error") == ["The bot may not read messages: the message content intent is off."]
        [lacking] = _told(findings, "warning")
        assert "Attach Files, Read Message History" in lacking
        refused = await (await stage.connector(token="something.else")).check()
        assert _told(refused, "error") == ["Discord does not accept the token."]


async def test_bots_of_one_process_find_their_own_servers() -> None:
    async with discord_stage() as one, discord_stage() as other:
        inboxes = RecordingInbox(), RecordingInbox()
        async with running(await one.connector(), inboxes[0]), running(await other.connector(), inboxes[1]):
            await one.say("first")
            await other.say("second")
            await asyncio.gather(inboxes[0].message("first"), inboxes[1].message("second"))
        assert [inbox.contents for inbox in inboxes] == [["first"], ["second"]]


async def test_a_gateway_that_stays_away_ends_the_run() -> None:
    async with discord_stage() as stage:
        connector = await stage.connector(patience=0.5)
        run = asyncio.create_task(connector.run(RecordingInbox(), lambda _: None))
        await stage.server.gateway.until("identified", 1)
        stage.server.gateway.mute = True
        await stage.drop_connections()
        async with asyncio.timeout(20):
            await asyncio.wait([run])
        assert isinstance(run.exception(), ConnectionError)
        assert "unreachable" in str(run.exception())
        assert all(later - earlier >= 1 for earlier, later in pairwise(stage.server.gateway.connected))


async def test_it_is_made_by_its_entry_point() -> None:
    async with discord_stage() as stage:
        connector = create(BotSettings("main", {"token": "a.b.c", "late": "mark"}), ConnectorServices(stage.clock, ()))
        assert (connector.platform, connector.name) == ("discord", "main")
        assert (connector.capabilities.guarantee, connector.capabilities.late) == (Guarantee.RECONCILED, "mark")
        await connector.close()


def _told(findings: object, level: str) -> list[str]:
    assert isinstance(findings, list)
    return [found.text for found in findings if isinstance(found, SetupFinding) and found.level == level]
