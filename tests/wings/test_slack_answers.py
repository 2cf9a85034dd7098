"""Slack's answers in malformed and unexpected forms, and files that it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import SendError
from arvis.testing.conformance.connector_stage import delivery, running
from connectors.slack.formatting import BLOCK_LIMIT
from tests.platforms.faults.wire import Fault, Kind
from tests.platforms.recording_inbox import RecordingInbox
from tests.platforms.slack_server import Fault as Refusal
from tests.platforms.slack_stage import SlackStage

NOTES = OutgoingFile("notes.txt", "text/plain", 5, content="hello")


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with SlackStage.open() as stage:
        yield stage


def part_of(stage: SlackStage, text: str, *files: OutgoingFile) -> Part:
    return Part(delivery(stage.address(), text), 0, Piece(text, (), files), tried_at=1)


@pytest.mark.parametrize("kind", [Kind.NOTHING_LEFT, Kind.FIELD_LEFT_OUT, Kind.NULLS])
async def test_a_send_that_is_acknowledged_without_an_id_may_have_arrived(stage: SlackStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault("chat.postMessage", kind, carried_out=True))
    connector, part = await stage.connector(), part_of(stage, "hello")
    with pytest.raises(SendError) as caught:
        await connector.send(part)
    assert (caught.value.uncertain, caught.value.acknowledged) == (True, True)
    found = await connector.find(part)
    assert found is not None
    assert found.platform_id == stage.shown(stage.address())[0].platform_id


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "files.completeUploadExternal"])
async def test_a_file_that_is_refused_does_not_take_the_text_with_it(stage: SlackStage, method: str) -> None:
    stage.server.faults = [Refusal(1, error="file_uploads_disabled", methods=frozenset({method}))]
    connector = await stage.connector()
    await connector.send(part_of(stage, "Here it is.", NOTES))
    [shown] = stage.shown(stage.address())
    assert "Here it is." in shown.text
    assert "The file notes.txt could not be sent: Slack refused it" in shown.text


async def test_a_missing_permission_for_files_is_explained(stage: SlackStage) -> None:
    stage.world.scopes.discard("files:write")
    connector = await stage.connector()
    await connector.send(part_of(stage, "Here it is.", NOTES))
    await connector.send(replace(part_of(stage, "", NOTES), number=1))
    texts = [shown.text for shown in stage.shown(stage.address())]
    assert len(texts) == 2
    assert all("files:write" in text and "OAuth & Permissions" in text.replace("&amp;", "&") for text in texts)


async def test_a_long_text_and_the_note_of_its_file_are_both_shown(stage: SlackStage) -> None:
    stage.world.scopes.discard("files:write")
    connector, text = await stage.connector(), "word " * ((BLOCK_LIMIT - 1) // 5)
    await connector.send(part_of(stage, text, NOTES))
    first, second = (shown.text for shown in stage.shown(stage.address()))
    assert first.count("word") == text.count("word")
    assert "notes.txt could not be sent" in second


async def test_trouble_with_files_that_lasts_does_not_hold_the_text_back(stage: SlackStage) -> None:
    stage.server.wire.spoil(Fault("POST /upload/v1/{file}", Kind.S503, left=10))
    connector = await stage.connector()
    with pytest.raises(SendError) as caught:
        await connector.send(Part(delivery(stage.address(), "x"), 0, Piece("x", (), (NOTES,)), tried_at=None))
    assert not caught.value.permanent
    assert not stage.shown(stage.address())
    await connector.send(part_of(stage, "x", NOTES))  # its first attempt was long ago
    [shown] = stage.shown(stage.address())
    assert "could not be sent" in shown.text


@pytest.mark.parametrize(
    "kind", [Kind.NOTHING_LEFT, Kind.INSIDE, Kind.NULLS, Kind.LIST, Kind.TRUE, Kind.HANG, Kind.HTML]
)
async def test_a_name_that_cannot_be_read_costs_no_message(stage: SlackStage, kind: Kind) -> None:
    stage.server.wire.spoil(Fault("users.info", kind, carried_out=True, left=10))
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox), asyncio.timeout(6):
        await stage.say("hello")
        await inbox.message("hello")


@pytest.mark.parametrize("call", ["auth.test", "apps.connections.open"])
async def test_a_start_that_is_answered_oddly_is_told_in_words(stage: SlackStage, call: str) -> None:
    for kind in (Kind.NOTHING_LEFT, Kind.HTML, Kind.LIST, Kind.NULL):
        stage.server.wire.spoil(Fault(call, kind, carried_out=True, left=1))
        connector = await stage.connector()
        with pytest.raises(ConnectionError, match=f"{call} of Slack failed: Slack"):
            await connector.run(RecordingInbox(), lambda _: None)


async def test_a_socket_that_never_answers_is_given_up(stage: SlackStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.slack.receiving._DIAL_SECONDS", 0.2)
    stage.server.wire.spoil(Fault("GET /link", Kind.HANG, left=1))
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        await stage.say("hello")
        await inbox.message("hello")
