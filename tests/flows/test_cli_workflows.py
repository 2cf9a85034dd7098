"""`arvis workflows` over a real web server and store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arvis.cli.commands.workflows import workflows
from arvis.cli.main import COMMANDS
from tests.flows.app_harness import HELPER
from tests.flows.web_server import DAEMON_KEY, Site, running_site
from tests.flows.workflow_kit import asks, chain, node

DOCUMENT = {**chain(node("s", "start"), node("OK", "approval"), asks()), "name": "Daily digest"}
DOCUMENT["connections"][1]["sourceHandle"] = "approve"


class Shell:
    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self._folder = folder

    async def run(self, *arguments: str, typed: str = "") -> Result:
        command = [*arguments, "--data", str(self._folder)]
        return await asyncio.to_thread(CliRunner().invoke, workflows, command, input=typed)

    async def out(self, *arguments: str, typed: str = "") -> str:
        done = await self.run(*arguments, typed=typed)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    async def told(self, *arguments: str) -> Any:
        return json.loads(await self.out(*arguments, "--json"))


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with running_site(tmp_path, real_insights=True, real_operations=True) as site:
        (tmp_path / "address").write_text(site.url, encoding="utf-8")
        (tmp_path / "api-key").write_text(DAEMON_KEY, encoding="utf-8")
        await site.store.write(lambda tx: tx.agents.add(HELPER, 0))
        yield Shell(site, tmp_path)


async def test_a_workflow_from_its_import_to_its_export(shell: Shell) -> None:
    assert await shell.out("list") == "No workflows.\n"
    kept = await shell.out("import", "-", typed=json.dumps(DOCUMENT))
    assert kept.startswith("The workflow daily-digest was imported: ")
    header, line = (await shell.out("list")).splitlines()
    assert header.split()[:3] == ["SLUG", "NAME", "VERSION"]
    assert line.split()[0] == "daily-digest"
    assert "nodes" in await shell.out("show", "daily-digest")
    back = json.loads(await shell.out("export", "daily-digest"))
    assert [each["id"] for each in back["nodes"]] == ["s", "OK", "Work"]
    assert "nodes:" in await shell.out("export", "daily-digest", "--yaml")


async def test_a_run_from_its_beginning_to_its_end(shell: Shell) -> None:
    await shell.out("import", "-", typed=json.dumps(DOCUMENT))
    begun = await shell.told("run", "daily-digest", "of today")
    listed = (await shell.out("runs", "--workflow", "daily-digest")).splitlines()
    assert listed[1].split()[:2] == [begun["id"], "daily-digest"]
    assert "start_prompt" in await shell.out("runs", "--id", begun["id"])
    assert "is cancelled." in await shell.out("cancel", begun["id"])
    again = await shell.run("cancel", begun["id"])
    assert again.exit_code != 0
    assert (await shell.told("runs", "--id", begun["id"]))["log"][-1]["type"] == "run_end"
    assert (await shell.run("approve", begun["id"])).exit_code != 0
    assert "of daily-digest is" in await shell.out("rerun", begun["id"])


async def test_what_is_not_there(shell: Shell) -> None:
    assert (await shell.run("show", "none")).exit_code != 0
    assert "workflows" in COMMANDS


async def test_an_import_that_is_refused_names_every_problem(shell: Shell) -> None:
    broken = chain(node("s", "start"), node("one", "agent", agent="nobody"), node("two", "tool-call"))
    refused = await shell.run("import", "-", typed=json.dumps(broken))
    assert refused.exit_code != 0
    said = str(getattr(refused.exception, "why", ""))
    assert "one: `one` names the agent `nobody`" in said
    assert "two: Tool is missing" in said


async def test_an_import_of_what_is_no_text_is_refused_in_words(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(b'{"name": "\xff\xfe"}')
    refused = await shell.run("import", str(file))
    assert refused.exit_code != 0
    assert "is not UTF-8 text" in refused.output + str(refused.exception)


async def test_an_import_that_cannot_be_read_says_why_once(shell: Shell) -> None:
    refused = await shell.run("import", "-", typed="{nonsense")
    said = f"{refused.exception} {getattr(refused.exception, 'why', '')} {refused.output}"
    assert said.count("it is not valid JSON") == 1
