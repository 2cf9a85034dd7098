"""The channel in which the owners receive alerts."""

from __future__ import annotations

from pathlib import Path

import pytest

from arvis.config import Config, load
from arvis.domain.errors import ConfigError
from arvis.domain.messages import Address

BOTS = "bots: {slack: [{name: main}], discord: [{name: a}, {name: b}]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path, place: str) -> Config:
    file = folder / "config.yaml"
    file.write_text(f"owners: {{slack: [U1], alert_channel: '{place}'}}\n{BOTS}\n", encoding="utf-8")
    return load(file, None, {})


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("", None),
        ("slack:C1", Address("slack", "main", "C1")),
        ("slack/other:C1", Address("slack", "other", "C1")),
        ("discord/b:1:2", Address("discord", "b", "1:2")),
        ("telegram:-1001", Address("telegram", "main", "-1001")),
        ("web:dashboard-agent-helper", Address("web", "web", "dashboard-agent-helper")),
    ],
)
def test_a_place_is_named_by_platform_bot_and_channel(folder: Path, written: str, place: Address | None) -> None:
    config = read(folder, written)
    assert config.alert_channel == place
    assert config.owners["slack"] == ("U1",)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("C1", "must be one channel"),
        ("slack:", "must be one channel"),
        ("slack:C1, slack:C2", "must be one channel"),
        ("discord:1", "must name the bot of discord"),
    ],
)
def test_what_names_no_place_is_refused_with_the_key(folder: Path, written: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        read(folder, written)
    assert "owners.alert_channel" in refused.value.what
    assert refused.value.fix.startswith("Write ")
