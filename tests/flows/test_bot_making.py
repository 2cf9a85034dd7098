"""Connectors are found by their entry points and imported off the event loop; a broken one is reported."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from arvis.bots.connectors import ConnectorFactory, describe
from arvis.bots.registry import BotSpec
from arvis.domain.errors import ConfigError
from arvis.ports.connector import BadSetting, ConnectorServices
from arvis.process.clock import SystemClock

MODULES = {
    "whole": "import threading\nloaded_on = threading.current_thread().name\n"
    "def create(settings, services): return settings, services",
    "picky": "from arvis.ports.connector import BadSetting\n"
    "def create(settings, services): raise BadSetting('token', 'is missing', fix='Add it.')",
    "broken": "def create(settings, services): raise ValueError('the secret ' + settings.values['token'])",
    "syntax": "def",
    "leaves": "import sys\nsys.exit(3)",
    "nameless": "",
    "missing": "import no_such_package",
}


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConnectorFactory:
    folder = tmp_path / "site"
    about = folder / "bots_of_others-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bots-of-others\nVersion: 1\n")
    points = [f"{name} = bot_of_others_{name}:create" for name in MODULES]
    (about / "entry_points.txt").write_text("\n".join(["[arvis.connectors]", *points]))
    for name, text in MODULES.items():
        (folder / f"bot_of_others_{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"bot_of_others_{name}", raising=False)
    monkeypatch.syspath_prepend(folder)
    return ConnectorFactory(services=ConnectorServices(clock=SystemClock(), commands=()))


def bot(platform: str) -> BotSpec:
    return BotSpec(platform, "main", {"token": "canary-8Qp"})


async def test_a_connector_is_imported_when_it_is_needed_and_on_a_thread(maker: ConnectorFactory) -> None:
    assert "whole" in maker.platforms
    assert "bot_of_others_whole" not in sys.modules
    settings, _ = await maker.make(bot("whole"))  # type: ignore[misc]  # this one gives back what it was given
    assert (settings.name, settings.values) == ("main", {"token": "canary-8Qp"})  # type: ignore[has-type]
    assert sys.modules["bot_of_others_whole"].loaded_on != threading.current_thread().name


async def test_a_setting_that_it_refuses_is_named(maker: ConnectorFactory) -> None:
    with pytest.raises(BadSetting) as refused:
        await maker.make(bot("picky"))
    assert describe(refused.value) == "The setting `token` is missing. Add it."


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("missing", "The connector for missing needs the package no_such_package, which is not installed. "),
        ("broken", "The connector for broken is broken. ValueError: the secret ***"),
        ("syntax", "The connector for syntax is broken. SyntaxError"),
        ("leaves", "The connector for leaves cannot be loaded: its code tried to exit with the code 3."),
        ("nameless", "The connector for nameless is broken. AttributeError"),
        ("unheard_of", "There is no connector for the platform unheard_of. Installed connectors: "),
    ],
)
async def test_one_that_cannot_be_made_says_why_every_time(maker: ConnectorFactory, platform: str, words: str) -> None:
    for _ in range(2):
        with pytest.raises(ConfigError) as refused:
            await maker.make(bot(platform))
        assert describe(refused.value).startswith(words)
