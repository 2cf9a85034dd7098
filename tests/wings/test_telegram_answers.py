"""Telegram's answers in malformed and unexpected forms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import SendError
from arvis.testing.conformance.connector_stage import delivery, running
from tests.platforms.faults.wire import Fault, Kind
from tests.platforms.recording_inbox import RecordingInbox
from tests.platforms.telegram_server_state import ApiError
from tests.platforms.telegram_stage import TelegramStage


@pytest.fixture
async def stage() -> AsyncIterator[TelegramStage]:
    async with TelegramStage.open() as stage:
        yield stage


@pytest.mark.parametrize("kind", [Kind.TRUE, Kind.NOTHING_LEFT, Kind.HTML, Kind.NULL, Kind.LIST, Kind.HANG, Kind.S500])
async def test_commands_that_cannot_be_listed_hold_up_nothing(stage: TelegramStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault("getmycommands", kind, carried_out=True, left=10))
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox), asyncio.timeout(4):
        await stage.say("hello")
        await inbox.message("hello")


@pytest.mark.parametrize("kind", [Kind.TRUE, Kind.NOTHING_LEFT, Kind.FIELD_LEFT_OUT, Kind.LIST])
async def test_a_send_that_is_acknowledged_without_an_id_may_have_arrived(stage: TelegramStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault("sendmessage", kind, carried_out=True))
    connector = await stage.connector()
    with pytest.raises(SendError) as caught:
        await connector.send(Part(delivery(stage.address(direct=True), "hello"), 0, Piece("hello")))
    assert (caught.value.uncertain, caught.value.acknowledged) == (True, True)


@pytest.mark.parametrize("kind", [Kind.HTML, Kind.EMPTY, Kind.NULL, Kind.CUT])
async def test_a_send_that_is_not_acknowledged_is_uncertain(stage: TelegramStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault("sendmessage", kind, carried_out=True))
    connector = await stage.connector()
    with pytest.raises(SendError) as caught:
        await connector.send(Part(delivery(stage.address(direct=True), "hello"), 0, Piece("hello")))
    assert (caught.value.uncertain, caught.value.acknowledged) == (True, False)


async def test_a_file_that_is_refused_does_not_take_its_text_with_it(stage: TelegramStage) -> None:
    text = "Bad Request: not enough rights to send documents to the chat"
    stage.server.refuse_sends(1, ApiError(400, text))
    connector, address = await stage.connector(), stage.address(direct=True)
    file = OutgoingFile("notes.txt", "text/plain", 5, content="hello")
    await connector.send(Part(delivery(address, "Here it is."), 0, Piece("Here it is.", (), (file,))))
    huge = OutgoingFile("film.bin", "application/octet-stream", 51 * 1024 * 1024, sha256="0" * 64)
    data = {"0" * 64: bytes(51 * 1024 * 1024)}
    await connector.send(Part(delivery(address, ""), 1, Piece("", (), (huge,)), data=data))
    first, second = (shown.text for shown in stage.shown(address))
    assert first.startswith("Here it is.")
    assert "The file notes.txt could not be sent" in first
    assert "The file film.bin could not be sent: Telegram accepts files of at most 50 MB" in second


async def test_polls_that_answer_at_once_are_no_storm(stage: TelegramStage) -> None:
    stage.server.wire.spoil(Fault("getupdates", Kind.FIELD_LEFT_OUT, carried_out=True, left=100))
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        await stage.say("hello")
        await asyncio.sleep(2.5)
        assert stage.server.counts["getupdates"] <= 4
        stage.server.wire.spoil(None)
        await inbox.message("hello")


async def test_a_webhook_that_cannot_be_removed_is_told_as_such(stage: TelegramStage) -> None:
    for kind in (Kind.S429, Kind.S404, Kind.HTML_404):
        stage.bot.webhook = "https://other.example"
        stage.server.wire.spoil(Fault("deletewebhook", kind, left=10))
        connector = await stage.connector()
        with pytest.raises(ConnectionError, match="has set a webhook for this bot"):
            await connector.run(RecordingInbox(), lambda _: None)
