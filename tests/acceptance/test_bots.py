"""Bots in a real daemon: it answers a platform's message there, and an error names the configuration line of a bot that
cannot work."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from arvis.cli.api_client import request
from arvis.ports.extras import install_command
from tests.acceptance.daemon import ROOT, Daemon, arvis

PARROT = """
import asyncio, json, pathlib
from arvis.domain.messages import Address, IncomingMessage, Sender
from arvis.domain.platforms import Piece
from arvis.ports.connector import BadSetting, BotUp, Capabilities, Receipt, SetupFinding, TokenRefused

class Parrot:
    '''Brings every file of a folder as a message, once, and writes what it is to send into another.'''
    platform = "parrot"
    capabilities = Capabilities()

    def __init__(self, name, values):
        self.name, self.token, self.folder = name, values["token"], pathlib.Path(values["folder"])

    async def run(self, inbox, up):
        if self.token == "old":
            raise TokenRefused("The token is refused. Make a new one.")
        up(BotUp("7", "Polly"))
        while True:
            for file in sorted(self.folder.glob("*.in")):
                where = Address("parrot", self.name, "room")
                await inbox.receive(IncomingMessage(where, file.name, Sender("ann", "Ann"), file.read_text(), is_direct=True))
                file.rename(file.with_suffix(".taken"))
            await asyncio.sleep(0.02)

    def plan(self, delivery):
        return [Piece(delivery.content)]

    async def send(self, part):
        (self.folder / f"{part.key}.out").write_text(part.piece.content)
        return Receipt(part.key)

    async def close(self):
        (self.folder / "closed").touch()

    async def check(self):
        return [SetupFinding("ok", "Polly is well")]

def create(settings, services):
    if "folder" not in settings.values:
        raise BadSetting("folder", "is missing", fix="Name a folder.")
    return Parrot(settings.name, settings.values)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Install the platform of this test into a folder, and return the folder for Python's path."""
    folder = tmp_path / "site"
    about = folder / "parrots-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[arvis.connectors]\nparrot = parrots:create\n")
    (folder / "parrots.py").write_text(PARROT)
    return f"{folder}{os.pathsep}{ROOT}"


@pytest.fixture
def daemon(tmp_path: Path, path: str) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path, settings={"PYTHONPATH": path})
    yield daemon
    daemon.close()


def configured(folder: Path, *lines: str) -> None:
    text = ["bots:", "  parrot:", *lines, "owners: {parrot: [ann]}", ""]
    (folder / "config.yaml").write_text("\n".join(text))


def answer_in(folder: Path) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if found := [file for file in folder.glob("*.out") if file.stat().st_size]:
            return found[0].read_text()
        time.sleep(0.02)
    raise AssertionError("nothing was sent")


def test_a_message_of_a_configured_bot_is_answered_on_its_platform(daemon: Daemon, tmp_path: Path) -> None:
    configured(tmp_path, "    - token: good", f"      folder: {tmp_path}", "      agent: helper")
    (tmp_path / "1.in").write_text("hello")
    daemon.start()
    assert "hello" in answer_in(tmp_path)
    (bot,) = json.loads(daemon.arvis("bots", "list", "--json").stdout)["items"]
    assert (bot["state"], bot["userName"], bot["source"]) == ("running", "Polly", "configuration")
    daemon.stop()
    assert (tmp_path / "closed").exists()


def test_a_bot_is_entered_while_the_daemon_runs_and_mended_when_its_token_is_old(
    daemon: Daemon, tmp_path: Path, path: str
) -> None:
    (tmp_path / "config.yaml").write_text("owners: {parrot: [ann]}\n")
    daemon.start()
    add = ("bots", "create", "parrot/mine", "--set", f"folder={tmp_path}", "--secret", "token")
    assert daemon.arvis(*add, typed="old\n").returncode == 0
    assert state_of(daemon, "error")["error"] == "The token is refused. Make a new one."
    (tmp_path / "1.in").write_text("hello")
    assert daemon.arvis("bots", "update", "parrot/mine", "--secret", "token", typed="good\n").returncode == 0
    assert "hello" in answer_in(tmp_path)
    assert "Polly is well" in daemon.arvis("bots", "test", "parrot/mine").stdout
    doctor = daemon.arvis("doctor", "--json", PYTHONPATH=path)
    found = {check["id"]: check["what"] for check in json.loads(doctor.stdout)["checks"]}
    assert found["bot_states"] == "Bots that are up: 1 of 1"
    assert found["bot_setup"] == "Bots that are set up correctly: parrot/mine"


def state_of(daemon: Daemon, state: str) -> dict[str, str]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        (bot,) = json.loads(daemon.arvis("bots", "list", "--json").stdout)["items"]
        if bot["state"] == state:
            return dict(bot)
    raise AssertionError(f"it is never {state}")


def test_a_bot_that_cannot_be_made_ends_the_start_with_its_line(tmp_path: Path, path: str) -> None:
    configured(tmp_path, "    - token: good", "      agent: helper")
    done = arvis("run", "--data", str(tmp_path / "data"), cwd=tmp_path, environ={"PYTHONPATH": path})
    assert done.returncode == 2
    assert "`bots.parrot[0].folder` is missing" in done.stderr
    assert "config.yaml, line 3" in done.stderr
    assert "Name a folder." in done.stderr


def test_a_daemon_without_bots_loads_no_platform(daemon: Daemon, tmp_path: Path, path: str) -> None:
    loaded = tmp_path / "loaded"
    (tmp_path / "site" / "sitecustomize.py").write_text(
        f"import atexit, sys\natexit.register(lambda: open({str(loaded)!r}, 'w').write('\\n'.join(sys.modules)))\n"
    )
    daemon.start()
    daemon.stop()
    modules = {name.partition(".")[0] for name in loaded.read_text().split()}
    assert "starlette" in modules, "the list is that of the daemon"
    assert not {"connectors", "parrots", "discord", "telegram", "slack_bolt", "slack_sdk"} & modules


HIDDEN = 'raise ModuleNotFoundError("No module named \'discord\'", name="discord")\n'


def test_a_missing_library_stops_no_other_bot_and_every_place_names_the_command(daemon: Daemon, tmp_path: Path) -> None:
    """The library of Discord is hidden, as in an install without the extra."""
    (tmp_path / "site" / "discord.py").write_text(HIDDEN)
    about = tmp_path / "site" / "arvis-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: arvis\nVersion: 9\nProvides-Extra: discord\n"
        "Requires-Dist: discord-is-not-here; extra == 'discord'\n"
    )
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [line for group, names in points.items() for line in (f"[{group}]", *map(" = ".join, names.items()))]
    (about / "entry_points.txt").write_text("\n".join(lines))
    configured(
        tmp_path, "    - token: good", f"      folder: {tmp_path}", "      agent: helper", "  discord: [{token: x}]"
    )
    (tmp_path / "1.in").write_text("hello")
    daemon.start()
    assert "hello" in answer_in(tmp_path)
    command = install_command("discord")
    listed = json.loads(daemon.arvis("bots", "list", "--json").stdout)["items"]
    (bot,) = [each for each in listed if each["platform"] == "discord"]
    assert bot["state"] == "error"
    assert command in bot["error"]
    refused = daemon.arvis("bots", "create", "discord/other", "--secret", "token", typed="x\n")
    assert refused.returncode == 1
    assert command in refused.stderr
    assert command in daemon.arvis("bots", "test", "discord/main").stdout
    offered = request(daemon.url, "GET", "/api/platforms", key=daemon.api_key).data["items"]
    assert {each["name"]: each["install"] for each in offered if each["install"]} == {"discord": command}
    checked = json.loads(daemon.arvis("doctor", "--json", **daemon.settings).stdout)["checks"]
    assert [check["fix"] for check in checked if check["id"] == "platforms"] == [
        f"Run `{command}`, then start Arvis again. Until then, the other bots work."
    ]
    (tmp_path / "config.yaml").unlink()
    checked = json.loads(daemon.arvis("doctor", "--json", DISCORD_TOKEN="x", **daemon.settings).stdout)["checks"]
    assert [check["fix"] for check in checked if check["id"] == "platforms"] == [f"Unset them, or run `{command}`."]
