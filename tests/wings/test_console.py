"""The terminal as a chat platform."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import pytest

from arvis.domain.messages import Button, OutgoingFile, PrincipalRole
from arvis.ports.connector import BadSetting, BotSettings, Connector, ConnectorServices, SendError
from arvis.testing.clock import SteppedClock
from arvis.testing.conformance.connector import ConnectorConformance
from arvis.testing.conformance.connector_stage import (
    PATIENCE,
    RememberingInbox,
    Stage,
    delivery,
    parts_of,
    running,
    send_all,
)
from connectors.console import Console, ConsoleConfig, create
from tests.platforms.console_stage import ConsoleStage

SERVICES = ConnectorServices(clock=SteppedClock(), commands=())
BUTTONS = (Button("yes:1", "Yes, do it"), Button("no:1", "No"))


class TestConsole(ConnectorConformance):
    @pytest.fixture(autouse=True)
    def _in(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    def stage(self) -> AbstractAsyncContextManager[Stage]:
        return ConsoleStage.open(self._folder)


@asynccontextmanager
async def terminal() -> AsyncIterator[tuple[Connector, int]]:
    """Yield a console at a new terminal, and the file descriptor of the person's side."""
    person, daemon = os.openpty()
    try:
        yield Console(name="main", config=ConsoleConfig(), services=SERVICES, terminal=(daemon, daemon)), person
    finally:
        os.close(person)
        os.close(daemon)


async def read_until(screen: int, text: str) -> str:
    seen = b""
    async with asyncio.timeout(PATIENCE):
        while text not in seen.decode():
            seen += await asyncio.to_thread(os.read, screen, 4096)
    return seen.decode()


async def test_a_person_talks_at_a_terminal() -> None:
    inbox = RememberingInbox()
    async with terminal() as (console, person), running(console, inbox):
        os.write(person, b"hello\n")
        message = await inbox.message("hello")
        await send_all(console, delivery(message.address, "Hi!"))
        await read_until(person, "helper: Hi!")
    assert (message.sender.user_id, message.sender.role) == ("console", PrincipalRole.OWNER)


async def test_a_number_chooses_the_option() -> None:
    inbox = RememberingInbox()
    async with terminal() as (console, person), running(console, inbox):
        os.write(person, b"2\n")
        address = (await inbox.message("2")).address
        [receipt] = await send_all(console, delivery(address, "Shall I?", buttons=BUTTONS))
        assert "Shall I?\r\n  1. Yes, do it\r\n  2. No\r\n" in await read_until(person, "No")
        os.write(person, b"3\n2\n")
        await inbox.message("3")
        await read_until(person, "(Noted.)")
        os.write(person, b"1\n")
        await inbox.message("1")
    [click] = inbox.clicks
    assert (click.data, click.message_ref, click.address) == ("no:1", receipt.platform_id, address)


async def test_a_choice_that_was_not_kept_comes_again() -> None:
    inbox = RememberingInbox(refusals=1)
    async with terminal() as (console, person), running(console, inbox):
        await send_all(console, delivery(ConsoleStage.PLACE, "Shall I?", buttons=BUTTONS))
        os.write(person, b"1\n")
        await inbox.until(lambda: inbox.clicks)
    assert len(inbox.refused) == 1


async def test_the_lines_of_a_file_are_known_again(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"one\r\n\n  two\xff\0\nlast")
    console = create(BotSettings("main", {"input": str(tmp_path / "script")}), SERVICES)
    inbox = RememberingInbox()
    async with running(console, inbox):
        await inbox.until(lambda: len(inbox.messages) == 3)
    async with running(console, inbox):
        await inbox.until(lambda: len(inbox.messages) == 6)
    assert [message.content for message in inbox.messages[:3]] == ["one", "two\ufffd", "last"]
    assert len({message.event_id for message in inbox.messages}) == 3


async def test_replies_are_printed_after_the_end_of_the_input(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("one\n", encoding="utf-8")
    paths = {"input": str(tmp_path / "script"), "output": str(tmp_path / "screen")}
    console, inbox = create(BotSettings("main", paths), SERVICES), RememberingInbox()
    async with running(console, inbox):
        address = (await inbox.message("one")).address
        await send_all(console, delivery(address, "late"))
    assert (tmp_path / "screen").read_text(encoding="utf-8") == "helper: late\n"


async def test_a_line_without_an_end_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"x" * 3_000_000)
    console = create(BotSettings("main", {"input": str(tmp_path / "script")}), SERVICES)
    inbox = RememberingInbox()
    async with running(console, inbox):
        await inbox.until(lambda: sum(len(message.content) for message in inbox.messages) == 3_000_000)
    assert len({message.event_id for message in inbox.messages}) == len(inbox.messages) > 1


async def test_a_reply_does_not_command_the_terminal(tmp_path: Path) -> None:
    console = create(BotSettings("main", {"output": str(tmp_path / "screen")}), SERVICES)
    file = OutgoingFile("a\x1b[2J.md", "text/markdown", 3, content="abc")
    evil = [Button("1", "\x1b[31mred")]
    await send_all(console, delivery(ConsoleStage.PLACE, "\x1b]0;title\x07\tok\x9b\nthere", files=[file], buttons=evil))
    shown = (tmp_path / "screen").read_text(encoding="utf-8")
    assert shown == "helper: ]0;title\tok\nthere\n[file a[2J.md, 3 bytes]\n  1. [31mred\n"


async def test_a_pipe_that_nobody_reads_takes_nothing_and_passes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "screen")
    console = create(BotSettings("main", {"output": str(tmp_path / "screen")}), SERVICES)
    [part] = parts_of(console, delivery(ConsoleStage.PLACE, "hello"))
    with pytest.raises(SendError) as caught:
        await console.send(part)
    assert not caught.value.permanent


async def test_an_input_that_is_not_there_is_said(tmp_path: Path) -> None:
    console = create(BotSettings("main", {"input": str(tmp_path / "nothing")}), SERVICES)
    with pytest.raises(FileNotFoundError):
        async with running(console, RememberingInbox()):
            pass


async def test_a_silent_terminal_does_not_hold_up_the_end() -> None:
    async with terminal() as (console, _), asyncio.timeout(PATIENCE):
        run = asyncio.create_task(console.run(RememberingInbox(), lambda up: None))
        await asyncio.sleep(0)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run


def test_a_setting_that_is_wrong_is_named() -> None:
    with pytest.raises(BadSetting) as caught:
        create(BotSettings("main", {"inptu": "x"}), SERVICES)
    assert caught.value.fix == "Did you mean `input`?"
