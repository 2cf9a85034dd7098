"""`arvis memory` over a real web server and store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arvis.cli.commands.memory import memory
from arvis.domain.agents import Agent
from arvis.domain.memory import State
from arvis.domain.taint import Label
from arvis.memory.service import put_state
from tests.flows.app_harness import AppHarness
from tests.flows.web_server import DAEMON_KEY, Site, running_site

HELPER = Agent(id="agent1", slug="helper", name="Helper")


class Shell:
    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self._folder = folder

    async def run(self, *arguments: str) -> Result:
        command = [*arguments, "--data", str(self._folder)]
        return await asyncio.to_thread(CliRunner().invoke, memory, command)

    async def out(self, *arguments: str) -> str:
        done = await self.run(*arguments)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    async def read_json(self, *arguments: str) -> Any:
        return json.loads(await self.out(*arguments, "--json"))


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with running_site(tmp_path, real_insights=True) as site:
        await site.store.write(lambda tx: tx.agents.add(HELPER, site.clock.now()))
        yield shell_of(site, tmp_path)


def shell_of(site: Site, folder: Path) -> Shell:
    (folder / "address").write_text(site.url, encoding="utf-8")
    (folder / "api-key").write_text(DAEMON_KEY, encoding="utf-8")
    return Shell(site, folder)


async def test_memory_is_turned_off_and_on_in_a_channel(app: AppHarness, tmp_path: Path) -> None:
    conversation = (await app.ask("Hello")).message.conversation_id or ""
    (tmp_path / "web").mkdir()
    async with running_site(tmp_path / "web", behind=app) as site:
        shell = shell_of(site, tmp_path / "web")
        for verb, on in (("off", False), ("on", True)):
            assert f"Memory is {verb} in the channel room." in await shell.out(verb, conversation)
            kept = await app.store.read(lambda tx: tx.conversations.get(conversation))
            assert kept is not None
            assert kept.remembers is on
        assert (await shell.run("off", "none")).exit_code != 0


async def test_a_fact_from_the_first_word_to_the_last(shell: Shell) -> None:
    assert await shell.out("list") == "No facts match.\n"
    of = ("--agent", "helper", "--category", "user_preference")
    first = await shell.read_json("create", "prefers Python 3.11", *of)
    assert "already has this fact" in await shell.out("create", "prefers python 3.11", *of)
    assert f"replaces {first['id']}" in await shell.out("create", "prefers Python 3.12", *of)
    table = (await shell.out("list", "--search", "python")).splitlines()
    assert table[0].split() == ["ID", "AGENT", "SCOPE", "CATEGORY", "CONTENT", "CONFIRMED"]
    assert "prefers Python 3.12" in table[1]
    shown = await shell.out("show", first["id"])
    assert "superseded" in shown
    assert "Restored" in await shell.out("undo", "--agent", "helper")
    assert "confirmed" in await shell.out("confirm", first["id"])
    assert "deleted" in await shell.out("delete", first["id"])
    assert [fact["id"] for fact in (await shell.read_json("list", "--status", "deleted"))["items"]][-1] == first["id"]


async def test_a_fact_has_a_period_and_is_searched(shell: Shell) -> None:
    of = ("--agent", "helper")
    old = await shell.read_json("create", "The office is based in Oslo.", *of, "--from", "2024")
    new = await shell.read_json(
        "create", "The office is based in Bergen.", *of, "--from", "2026-02", "--until", "2099-03-01"
    )
    shown = await shell.out("show", new["id"])
    assert "2026-02-01" in shown
    assert old["id"] in shown.partition("REPLACED")[2]
    assert "Bergen" in await shell.out("search", "office", *of)
    assert "Oslo" not in await shell.out("search", "office", *of)
    assert "is changed" in await shell.out("correct", new["id"], "--always-true")
    failed = await shell.run("correct", new["id"], "--until", "tomorrow")
    assert "tomorrow is not a date" in failed.output


async def test_states_are_listed(shell: Shell) -> None:
    assert await shell.out("states") == "No values.\n"
    state = State(HELPER.id, "agent", "alert.max", "1\x1b[2J50", frozenset({Label.TOOLS}), None, None, 1)
    await shell.site.store.write(put_state, state)
    line = (await shell.out("states", "--agent", "helper")).splitlines()[1]
    assert line.split() == ["helper", "agent", "alert.max", "1[2J50", "no"]


async def test_there_is_more_than_a_page(shell: Shell) -> None:
    for word in ("tea", "gin", "rum"):
        await shell.out("create", word, "--agent", "helper")
    page = await shell.run("list", "--limit", "2")
    cursor = page.stderr.split("--cursor ")[1].strip()
    rest = await shell.read_json("list", "--limit", "2", "--cursor", cursor)
    assert [fact["content"] for fact in rest["items"]] == ["tea"]


async def test_the_daemon_s_complaint_is_told(shell: Shell) -> None:
    for arguments in (("show", "none"), ("create", "x", "--agent", "nobody"), ("undo", "--agent", "helper")):
        done = await shell.run(*arguments)
        assert done.exit_code == 1
        assert getattr(done.exception, "fix", "")
