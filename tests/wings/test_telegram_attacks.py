"""Attacks on a Telegram bot: by a false server, by other people, and by a manipulated agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import telegram

from arvis.domain.messages import IncomingMessage
from arvis.domain.platforms import Part, Piece
from arvis.domain.quotations import QuotationKind
from arvis.ports.connector import Connector, FetchError, FetchesFiles, SendError
from arvis.testing.conformance.connector_stage import delivery
from connectors.telegram.formatting import formatted, plain
from connectors.telegram.incoming import BotIdentity, Incoming
from connectors.telegram.settings import TelegramConfig
from tests.platforms.telegram_server_state import ApiError, StoredFile
from tests.platforms.telegram_stage import TOKEN, TelegramStage
from tests.wings.listening import listening

ANN = {"id": 7, "is_bot": False, "first_name": "Ann"}
BOB = {"type": "user", "date": 1, "sender_user": {"id": 8, "is_bot": False, "first_name": "Bob"}}
HIDDEN = {"type": "hidden_user", "date": 1, "sender_user_name": "Owner"}
VOICE = {"file_id": "V", "file_unique_id": "v", "duration": 1, "file_size": 9}


@pytest.fixture
async def stage() -> AsyncIterator[TelegramStage]:
    async with TelegramStage.open() as opened:
        opened.private("ann")
        yield opened


async def why_not(connector: Connector, source: str, most: int = 1_000) -> FetchError:
    assert isinstance(connector, FetchesFiles)
    with pytest.raises(FetchError) as caught:
        await connector.fetch(source, most)
    return caught.value


class Liar(StoredFile):
    """A file with a path of the test's choice."""

    @property
    def path(self) -> str:
        return self.name


def lying(stage: TelegramStage, path: str) -> str:
    """Return the id of a file for which `getFile` gives this path."""
    stage.server.world.files["F"] = Liar("F", path, b"bytes")
    return "F"


async def test_no_file_of_this_machine_is_read(stage: TelegramStage, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine", encoding="utf-8")
    for path in (str(secret), "/etc/passwd"):
        assert (await why_not(await stage.connector(), lying(stage, path))).permanent


@pytest.mark.parametrize("path", ["https://evil.example/x", "//evil.example/x", "@evil.example/x", "file:///x"])
async def test_nobody_else_is_asked_for_a_file(stage: TelegramStage, path: str) -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n"))
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")

    async with listening(answer) as port:
        connector = await stage.connector(file_url=f"http://127.0.0.1:{port}")
        assert "302" in str(await why_not(connector, lying(stage, path)))
    assert [line.split()[1].startswith(b"/file/bot") for line in asked] == [True]


async def test_no_more_is_read_than_may_be(stage: TelegramStage) -> None:
    """The connector stops reading an endless body after `most` bytes, regardless of the declared size."""
    left = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            for _ in range(1_000):
                writer.write(bytes(65_536))
                await writer.drain()
        except ConnectionError:
            left.set()

    async with listening(stream) as port:
        connector = await stage.connector(file_url=f"http://127.0.0.1:{port}")
        assert (await why_not(connector, lying(stage, "files/a"))).permanent
        await asyncio.wait_for(left.wait(), 10)


async def test_an_answer_that_quotes_the_address_tells_no_token(stage: TelegramStage) -> None:
    stage.server.refuse_sends(1, ApiError(400, f"Bad Request: /bot{TOKEN}/sendMessage"))
    part = Part(delivery(stage.address(direct=True), "hello"), 0, Piece("hello"))
    with pytest.raises(SendError) as caught:
        await (await stage.connector()).send(part)
    assert TOKEN not in str(caught.value)
    assert "***" in str(caught.value)


def heard(**content: Any) -> IncomingMessage:
    message = {"message_id": 3, "date": 1_800_000_000, "chat": {"id": 7, "type": "private"}, "from": ANN} | content
    update = telegram.Update.de_json({"update_id": 5, "message": message}, None)
    config = TelegramConfig.model_validate({"token": "1:x"})
    event = Incoming(bot="main", me=BotIdentity(42, "arvis_bot"), config=config).read(update)
    assert isinstance(event, IncomingMessage)
    return event


def voices(message: IncomingMessage) -> list[bool]:
    return [file.voice for file in message.files]


@pytest.mark.parametrize("origin", [BOB, HIDDEN])
def test_what_was_passed_on_is_not_the_senders_word(origin: dict[str, Any]) -> None:
    spoken = heard(voice=VOICE, forward_origin=origin)
    assert (voices(spoken), spoken.forwarded) == ([False], True)
    written = heard(text="/new", forward_origin=origin)
    assert written.forwarded
    assert (written.content, written.quotations[0].kind) == ("/new", QuotationKind.FORWARD)


def test_the_senders_own_voice_is() -> None:
    spoken = heard(voice=VOICE)
    assert (voices(spoken), spoken.forwarded) == ([True], False)


@pytest.mark.parametrize(
    "text", ["`@ann`", "```\n@ann\n```", "`@`ann", "x `@`annabel", "**@**ann", "@ann", "[@ann](http://a)"]
)
def test_names_call_nobody_even_without_entities(text: str) -> None:
    called = re.compile(r"(?<![A-Za-z0-9_])@[A-Za-z]")
    shown = formatted(text)
    assert not called.search(plain(shown))
    code = [(each.offset, each.offset + each.length) for each in shown.entities if each.type in {"code", "pre"}]
    outside = [found for found in called.finditer(shown.text) if not _within(found, code)]
    assert outside == []


def _within(found: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    return any(start <= found.start() and found.end() <= end for start, end in spans)


@pytest.mark.parametrize("line", ["> " * 500, ">" * 500, "- " * 500, "1. " * 500, "- > " * 300])
def test_nesting_without_end_is_text(line: str) -> None:
    assert formatted(f"{line}a").text == f"{line}a".strip()
    assert formatted("> a\n> > b\n- c\n  - d\n").text != "> a\n> > b\n- c\n  - d"
