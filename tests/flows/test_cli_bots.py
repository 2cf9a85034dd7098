"""`arvis bots` over a real web server and store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arvis.cli.commands.bots import bots
from arvis.cli.main import COMMANDS
from tests.flows.bot_kit import TOKEN, Workshop, entry
from tests.flows.web_server import DAEMON_KEY, Site, running_site


class Shell:
    def __init__(self, site: Site, folder: Path, workshop: Workshop) -> None:
        self.site = site
        self.workshop = workshop
        self._folder = folder

    async def run(self, *arguments: str, typed: str = "", environ: dict[str, str] | None = None) -> Result:
        command = [*arguments, "--data", str(self._folder)]
        return await asyncio.to_thread(CliRunner().invoke, bots, command, input=typed, env=environ)

    async def out(self, *arguments: str, typed: str = "", environ: dict[str, str] | None = None) -> str:
        done = await self.run(*arguments, typed=typed, environ=environ)
        assert done.exit_code == 0, (done.output, done.exception)
        assert TOKEN not in done.output
        return done.stdout

    async def told(self, *arguments: str) -> Any:
        return json.loads(await self.out(*arguments, "--json"))


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    workshop = Workshop()
    async with running_site(tmp_path, maker=workshop, configured=[entry("fixed", token="x")]) as site:
        (tmp_path / "address").write_text(site.url, encoding="utf-8")
        (tmp_path / "api-key").write_text(DAEMON_KEY, encoding="utf-8")
        yield Shell(site, tmp_path, workshop)


async def test_a_bot_from_its_entry_to_its_end(shell: Shell) -> None:
    entered = await shell.out("create", "hooked/mine", "--secret", "token", "--set", "respond=all", typed=f"{TOKEN}\n")
    assert entered == "The bot hooked/mine is created. Test it with `arvis bots test hooked/mine`.\n"
    assert shell.workshop.last.values == {"respond": "all", "token": TOKEN}
    header, fixed, mine = (await shell.out("list")).splitlines()
    assert header.split() == ["BOT", "STATE", "AS", "SOURCE", "SINCE", "ERROR"]
    assert fixed.split()[:4] == ["plain/fixed", "stopped", "-", "configuration"]
    assert mine.split()[:4] == ["hooked/mine", "stopped", "-", "product"]
    shown = await shell.out("show", "hooked/mine")
    assert "respond" in shown
    assert "token" in shown
    assert await shell.out("disable", "hooked/mine") == "The bot hooked/mine is off.\n"
    assert (await shell.out("list")).splitlines()[2].split()[1] == "off"
    assert await shell.out("enable", "hooked/mine") == "The bot hooked/mine is on.\n"
    assert await shell.out("restart", "plain/fixed") == "The bot plain/fixed is restarting.\n"
    assert await shell.out("delete", "hooked/mine") == "The bot hooked/mine is deleted.\n"
    assert [bot["name"] for bot in (await shell.told("list"))["items"]] == ["fixed"]


async def test_settings_are_changed_and_taken_away(shell: Shell) -> None:
    await shell.out("create", "hooked", "--set", "observe=5", "--set", "respond=all", "--off")
    assert (await shell.told("show", "hooked"))["enabled"] is False
    await shell.out(
        "update", "hooked", "--set", 'allowed_channels=["1"]', "--set", "room=123456789012", "--unset", "observe"
    )
    expected = {"respond": "all", "allowed_channels": ["1"], "room": "123456789012"}
    assert (await shell.told("show", "hooked/main"))["settings"] == expected


async def test_the_secrets_of_a_platform_are_asked_for_line_by_line(shell: Shell) -> None:
    await shell.out("create", "slack", typed="xoxb-1\nxapp-1\n")
    assert shell.workshop.last.values == {"bot_token": "xoxb-1", "app_token": "xapp-1"}
    environ = {"APP": "xapp-2"}
    await shell.out("create", "slack/next", "--secret-env", "app_token=APP", typed="xoxb-2\n", environ=environ)
    assert shell.workshop.last.values == {"bot_token": "xoxb-2", "app_token": "xapp-2"}


async def test_an_examination_says_what_is_missing(shell: Shell) -> None:
    await shell.out("create", "hooked")
    assert await shell.out("test", "hooked") == "warning  A scope is missing\n         fix: Add it.\n"
    assert (await shell.run("test", "nowhere")).exit_code == 1


async def test_what_is_wrong_is_said(shell: Shell) -> None:
    refused = await shell.run("create", "hooked", "--set", "bad=1")
    assert "`bad` is wrong." in str(refused.exception)
    assert (await shell.run("create", "hooked", "--set", "bad")).exit_code == 2
    assert (await shell.run("create", "/main")).exit_code == 2


def test_the_command_is_in_the_table() -> None:
    assert COMMANDS["bots"].module == "commands.bots"
