"""Outgoing messages to Telegram, with the real client library: files, placeholders, rich messages, refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import Connector, FetchError, FetchesFiles, Guarantee, Reserves, SendError, ShowsDrafts
from arvis.testing.conformance.connector_stage import delivery, failure_of, parts_of, send_all
from tests.platforms.telegram_server_state import ApiError
from tests.platforms.telegram_stage import TelegramStage

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
OGG = b"OggS" + bytes(64)


@pytest.fixture
async def stage() -> AsyncIterator[TelegramStage]:
    async with TelegramStage.open() as opened:
        opened.private("ann")
        yield opened


def one_part(stage: TelegramStage, content: str = "", *, file: OutgoingFile | None = None, data: bytes = b"") -> Part:
    piece = Piece(content, (), (file,) if file else ())
    return Part(delivery(stage.address(direct=True), content), 0, piece, data={"hash": data})


def stored(content_type: str) -> OutgoingFile:
    """Return a file of the store; the part of the delivery holds its bytes."""
    return OutgoingFile("a.bin", content_type, 1, "hash")


async def failure(connector: Connector, part: Part) -> SendError:
    error = await failure_of(connector, part)
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("content_type", "data", "method"),
    [
        ("image/png", PNG, "sendphoto"),
        ("audio/ogg; codecs=opus", OGG, "sendvoice"),
        ("audio/mpeg", b"ID3", "sendaudio"),
        ("video/mp4", b"mp4", "sendvideo"),
        ("application/pdf", b"%PDF", "senddocument"),
    ],
)
async def test_files_by_their_kind(stage: TelegramStage, content_type: str, data: bytes, method: str) -> None:
    part = one_part(stage, "**look**", file=stored(content_type), data=data)
    await (await stage.connector()).send(part)
    [sent] = stage.server.sends
    assert sent.method == method
    assert [file.data for file in stage.server.world.files.values()] == [data]
    [message] = stage.private("ann").messages.values()
    assert (message["caption"], message["caption_entities"][0]["type"]) == ("look", "bold")


async def test_a_picture_that_is_none_goes_as_a_document(stage: TelegramStage) -> None:
    connector = await stage.connector()
    await connector.send(one_part(stage, file=stored("image/png"), data=b"no picture"))
    assert [sent.method for sent in stage.server.sends] == ["sendphoto", "senddocument"]
    assert stage.shown(stage.address(direct=True))[0].files == ("a.bin",)


async def test_a_file_above_the_limit_is_not_sent(stage: TelegramStage) -> None:
    part = one_part(stage, "look", file=stored("application/pdf"), data=bytes(50 * 1024 * 1024 + 1))
    await (await stage.connector()).send(part)
    assert [sent.method for sent in stage.server.sends] == ["sendmessage"]
    [shown] = stage.shown(stage.address(direct=True))
    assert not shown.files
    assert shown.text.startswith("look")
    assert "The file a.bin could not be sent: Telegram accepts files of at most 50 MB" in shown.text


async def test_nothing_is_never_sent(stage: TelegramStage) -> None:
    error = await failure(await stage.connector(), one_part(stage, " \n"))
    assert error.permanent
    assert not stage.server.sends


@pytest.mark.parametrize("content_type", ["image/png", "audio/ogg", "text/plain"])
async def test_a_placeholder_becomes_a_file(stage: TelegramStage, content_type: str) -> None:
    connector = await stage.connector(delivery="reserve_then_fill")
    assert connector.capabilities.guarantee is Guarantee.RESERVE_THEN_FILL
    assert isinstance(connector, Reserves)
    part = one_part(stage, "look", file=stored(content_type), data=PNG)
    receipt = await connector.reserve(part)
    assert "disable_notification" not in stage.server.sends[0].parameters
    filled = replace(part, platform_id=receipt.platform_id)
    assert await connector.send(filled) == receipt
    [shown] = stage.shown(stage.address(direct=True))
    assert (shown.text, len(shown.files)) == ("look", 1)


async def test_a_fill_that_was_cut_off_is_made_again(stage: TelegramStage) -> None:
    connector = await stage.connector(delivery="reserve_then_fill")
    assert isinstance(connector, Reserves)
    part = one_part(stage, "the answer")
    part = replace(part, platform_id=(await connector.reserve(part)).platform_id)
    stage.reset_sends(1, after=True)
    assert (await failure(connector, part)).uncertain
    await connector.send(part)
    assert [one.text for one in stage.shown(stage.address(direct=True))] == ["the answer"]


async def test_a_topic_a_reply_and_no_preview(stage: TelegramStage) -> None:
    ref = await stage.say("where?", direct=False, thread="plans")
    address = stage.address(thread="plans")
    await send_all(await stage.connector(), delivery(address, "https://a.example " * 400, reply_ref=ref))
    shown = stage.shown(address)
    assert [one.reply_ref for one in shown] == [ref, *([None] * (len(shown) - 1))]
    sent = stage.server.sends
    assert all(one.parameters["link_preview_options"] == {"is_disabled": True} for one in sent)


async def test_formatting_that_is_refused_leaves_the_text(stage: TelegramStage) -> None:
    stage.server.refuse_sends(1, ApiError(400, "Bad Request: can't parse entities: unexpected end"))
    connector = await stage.connector()
    await connector.send(one_part(stage, "**bold**"))
    [message] = stage.private("ann").messages.values()
    assert message["text"] == "bold"
    assert "entities" not in message


@pytest.mark.parametrize(
    ("error", "permanent", "gone"),
    [
        (ApiError(403, "Forbidden: bot was blocked by the user"), True, True),
        (ApiError(403, "Forbidden: bot was kicked from the supergroup chat"), True, True),
        (ApiError(400, "Bad Request: chat not found"), True, True),
        (ApiError(400, "Bad Request: not enough rights to send text messages to the chat"), True, True),
        (ApiError(400, "Bad Request: TOPIC_CLOSED"), True, False),
        (ApiError(400, "Bad Request: not enough rights to send photos to the chat"), True, False),
        (ApiError(400, "Bad Request: BUTTON_DATA_INVALID"), True, False),
        (ApiError(401, "Unauthorized"), False, False),
        (ApiError(502, "Bad Gateway"), False, False),
    ],
)
async def test_what_errors_mean(stage: TelegramStage, error: ApiError, *, permanent: bool, gone: bool) -> None:
    stage.server.refuse_sends(1, error)
    told = await failure(await stage.connector(), one_part(stage, "hello"))
    assert (told.permanent, told.gone) == (permanent, gone)


async def test_a_group_that_moved_is_named(stage: TelegramStage) -> None:
    text = "Bad Request: group chat was upgraded to a supergroup chat"
    stage.server.refuse_sends(1, ApiError(400, text, migrate_to_chat_id=-1009))
    assert (await failure(await stage.connector(), one_part(stage, "hello"))).moved_to == "-1009"


async def test_a_pause_for_one_chat_stops_no_other(stage: TelegramStage) -> None:
    connector, room = await stage.connector(), stage.address()
    stage.server.refuse_sends(
        9, ApiError(429, "Too Many Requests: retry after 60", retry_after=60), chat=int(room.channel)
    )
    error = await failure(connector, parts_of(connector, delivery(room, "hello"))[0])
    assert error.retry_after == 60
    await connector.send(one_part(stage, "hello"))
    assert len(stage.shown(stage.address(direct=True))) == 1


async def test_a_pause_that_a_draft_was_told_of_holds_for_the_answer(stage: TelegramStage) -> None:
    connector, room = await stage.connector(), stage.address()
    assert isinstance(connector, ShowsDrafts)
    stage.server.refuse_sends(1, ApiError(429, "Too Many Requests: retry after 60", retry_after=60))
    with pytest.raises(SendError):
        await connector.show_draft(room, "01JX0000000000000000000001", "I think", ())
    error = await failure(connector, parts_of(connector, delivery(room, "hello"))[0])
    assert error.retry_after is not None
    assert 59 < error.retry_after <= 60
    assert not stage.shown(room)


async def test_what_was_surely_not_sent_is_not_uncertain(stage: TelegramStage) -> None:
    error = await failure(await stage.connector(api_url="http://127.0.0.1:1"), one_part(stage, "hello"))
    assert (error.permanent, error.uncertain, error.retry_after) == (False, False, 30.0)


async def test_rich_messages_and_servers_that_know_none(stage: TelegramStage) -> None:
    connector, address = await stage.connector(rich=True), stage.address(direct=True)
    receipt = await connector.send(one_part(stage, "# Head\n\n| a |\n|---|\n| b |"))
    assert stage.shown(address)[0].text.startswith("<h1>Head</h1><table>")
    await connector.send(replace(one_part(stage, "## Two"), platform_id=receipt.platform_id))
    assert [one.text for one in stage.shown(address)] == ["<h2>Two</h2>"]
    stage.server.methods.unknown.add("sendrichmessage")
    for _ in range(2):
        await connector.send(one_part(stage, "**plain**"))
    assert [one.text for one in stage.shown(address)][1:] == ["plain", "plain"]
    assert stage.server.counts["sendrichmessage"] == 2


async def test_a_file_above_the_limit_is_not_fetched(stage: TelegramStage) -> None:
    large = stage.server.world.keep("b.bin", bytes(20 * 1024 * 1024 + 1))
    connector = await stage.connector()
    assert isinstance(connector, FetchesFiles)
    with pytest.raises(FetchError, match="at most 20 MB") as caught:
        await connector.fetch(large.id, 10**9)
    assert caught.value.permanent
