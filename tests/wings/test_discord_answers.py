"""Discord's answers in malformed and unexpected forms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import SendError
from arvis.testing.conformance.connector_stage import delivery, running
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.faults.wire import Fault, Kind
from tests.platforms.recording_inbox import RecordingInbox

MESSAGES = "/channels/{channel}/messages"
NOTES = OutgoingFile("notes.txt", "text/plain", 5, content="hello")


@pytest.fixture
async def stage() -> AsyncIterator[DiscordStage]:
    async with discord_stage() as stage:
        yield stage


@pytest.mark.parametrize("kind", [Kind.NOTHING_LEFT, Kind.FIELD_LEFT_OUT, Kind.TRUE, Kind.HTML, Kind.NULL, Kind.HANG])
async def test_commands_that_cannot_be_offered_hold_up_nothing(stage: DiscordStage, kind: Kind) -> None:
    stage.server.world.commands = [{"id": "1", "name": "else", "description": "of another program", "type": 1}]
    stage.server.wire.spoil(Fault("GET /applications/{app}/commands", kind, carried_out=True, left=10))
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox), asyncio.timeout(6):
        await stage.server.until_asked("GET", "/commands") if kind is not Kind.HANG else None
        await stage.say("hello")
        await inbox.message("hello")


async def test_commands_of_another_program_stay(stage: DiscordStage) -> None:
    other = {"id": "1", "name": "else", "description": "of another program", "type": 1, "options": []}
    stage.server.world.commands = [other]
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        while len(stage.server.world.commands) < 3:
            await stage.server.until_asked("POST", "/commands")
            await asyncio.sleep(0)
    assert [one["name"] for one in stage.server.world.commands] == ["else", "help", "new"]
    assert stage.server.world.commands[0] == other


@pytest.mark.parametrize("kind", [Kind.TRUE, Kind.NOTHING_LEFT, Kind.LIST, Kind.HTML, Kind.EMPTY])
async def test_a_send_that_is_answered_oddly_is_shown_once(stage: DiscordStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault(f"POST {MESSAGES}", kind, carried_out=True))
    connector, address = await stage.connector(), stage.address()
    part = Part(delivery(address, "hello"), 0, Piece("hello"))
    with pytest.raises(SendError) as caught:
        await connector.send(part)
    assert caught.value.uncertain
    receipt = await connector.send(part)
    [shown] = stage.shown(address)
    assert receipt.platform_id == shown.platform_id


@pytest.mark.parametrize("kind", [Kind.NOTHING_LEFT, Kind.LIST, Kind.TRUE, Kind.INSIDE, Kind.HTML, Kind.NULL])
async def test_a_history_in_another_form_is_asked_for_again(stage: DiscordStage, kind: Kind) -> None:
    room = stage.place()
    known = stage.server.world.add_message(room, stage.server.world.person("ann"), "known")
    bot = stage.server.world.bot["id"]
    stage.server.world.add_message(room, stage.server.world.person("ann"), f"<@{bot}> missed")
    stage.server.wire.spoil(Fault(f"GET {MESSAGES}", kind, carried_out=True, left=3))
    inbox = RecordingInbox(positions={room["id"]: int(known["id"])})
    async with running(await stage.connector(), inbox):
        await inbox.message("missed")


async def test_live_messages_do_not_wait_for_ever_for_their_history(stage: DiscordStage) -> None:
    room = stage.place()
    known = stage.server.world.add_message(room, stage.server.world.person("ann"), "known")
    bot = stage.server.world.bot["id"]
    missed = stage.server.world.add_message(room, stage.server.world.person("ann"), f"<@{bot}> missed")
    stage.server.wire.spoil(Fault(f"GET {MESSAGES}", Kind.S503, left=10_000))
    inbox = RecordingInbox(positions={room["id"]: int(known["id"])})
    async with running(await stage.connector(longest_hold=5), inbox):
        for text in ("live", "live as well"):
            await stage.say(text, direct=False)
            await inbox.message(text)
        assert inbox.positions[room["id"]] == int(known["id"]), "the gap is still to be read"
        stage.server.wire.spoil(None)
        await inbox.message("missed")
        await stage.say("and on", direct=False)
        await inbox.message("and on")
        assert inbox.positions[room["id"]] > int(missed["id"])
    assert inbox.contents == ["live", "live as well", "missed", "and on"]


async def test_a_channel_that_cannot_be_looked_up_holds_up_nobody(stage: DiscordStage) -> None:
    stage.server.wire.spoil(Fault("GET /channels/{channel}", Kind.S503, left=10_000))
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        await stage.say("hello", user="zoe")
        message = await inbox.message("hello")
        assert message.is_direct


@pytest.mark.parametrize("kind", [Kind.CUT, Kind.S503, Kind.HTML, Kind.S401])
async def test_a_gateway_that_is_away_at_the_start_is_told_in_words(stage: DiscordStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault("GET /gateway", kind, left=10))
    connector = await stage.connector()
    with pytest.raises(ConnectionError, match="gateway cannot be reached"):
        await connector.run(RecordingInbox(), lambda _: None)


async def test_a_file_that_may_not_be_attached_does_not_take_the_text_with_it(stage: DiscordStage) -> None:
    stage.server.refuse_sends(1, status=403, code=50013)
    connector, address = await stage.connector(), stage.address()
    await connector.send(Part(delivery(address, "Here it is."), 0, Piece("Here it is.", (), (NOTES,))))
    [shown] = stage.shown(address)
    assert shown.text.startswith("Here it is.")
    assert "The file notes.txt could not be sent: the bot lacks the permission Attach Files here" in shown.text
    assert not shown.files
    stage.server.refuse_sends(2, status=403, code=50013)
    with pytest.raises(SendError) as caught:
        await connector.send(Part(delivery(address, "No."), 1, Piece("No.", (), (NOTES,))))
    assert caught.value.gone, "nothing may be written there"


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"id": "1"},
        {"channel_id": "5", "type": 2},
        {"channel_id": "5", "type": 3, "data": [], "id": ["x"], "token": 7},
    ],
)
async def test_an_event_in_another_form_costs_only_itself(stage: DiscordStage, event: dict[str, object]) -> None:
    names = (
        "INTERACTION_CREATE",
        "GUILD_CREATE",
        "GUILD_DELETE",
        "THREAD_LIST_SYNC",
        "CHANNEL_UPDATE",
        "MESSAGE_DELETE",
    )
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        for name in names:
            for session in stage.server.gateway.sessions.values():
                await stage.server.gateway._event(session, name, event)
        await stage.say("hello")
        await inbox.message("hello")


async def test_headers_in_another_form_cost_only_their_request(stage: DiscordStage) -> None:
    stage.server.rest.odd_headers = {
        "X-RateLimit-Remaining": "many",
        "X-RateLimit-Limit": "",
        "X-RateLimit-Bucket": "b",
    }
    connector, address = await stage.connector(), stage.address()
    with pytest.raises(SendError) as caught:
        await connector.send(Part(delivery(address, "hello"), 0, Piece("hello")))
    assert caught.value.uncertain
    stage.server.rest.odd_headers = {}
    await connector.send(Part(delivery(address, "hello"), 0, Piece("hello")))
    assert [shown.text for shown in stage.shown(address)] == ["hello"]


async def test_a_limit_that_the_library_keeps_delays_the_send(stage: DiscordStage) -> None:
    stage.server.rest.odd_headers = {
        "X-RateLimit-Limit": "5",
        "X-RateLimit-Remaining": "4",
        "X-RateLimit-Reset-After": "60",
        "X-RateLimit-Bucket": "b",
    }
    connector, address = await stage.connector(), stage.address()
    await connector.send(Part(delivery(address, "one"), 0, Piece("one")))
    with pytest.raises(SendError) as caught:
        await connector.send(Part(delivery(address, "two"), 1, Piece("two")))
    assert not caught.value.uncertain
    assert 50 < (caught.value.retry_after or 0) <= 60


@pytest.mark.parametrize("call", ["GET /gateway", "GET /users/@me"])
async def test_a_start_that_hangs_is_given_up(stage: DiscordStage, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.discord.client._DIAL_SECONDS", 0.2)
    monkeypatch.setattr("connectors.discord.client.LOGIN_SECONDS", 0.2)
    stage.server.wire.spoil(Fault(call, Kind.HANG, left=1))
    connector = await stage.connector()
    with pytest.raises(ConnectionError, match=r"unreachable|cannot be reached"):
        await connector.run(RecordingInbox(), lambda _: None)


@pytest.mark.parametrize("kind", [Kind.S404, Kind.S409, Kind.S403])
async def test_an_answer_whose_thread_cannot_be_opened_stands_in_its_channel(stage: DiscordStage, kind: Kind) -> None:
    asked = await stage.say("a question", direct=False)
    stage.server.wire.spoil(Fault(f"GET {MESSAGES}/{{message}}", kind, left=1))
    connector, address = await stage.connector(), replace(stage.address(), thread=asked)
    await connector.send(Part(delivery(address, "hello"), 0, Piece("hello")))
    assert [shown.text for shown in stage.shown(stage.address())] == ["hello"]
