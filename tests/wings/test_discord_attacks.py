"""Attacks by users on Discord: malicious files, and text that an agent repeats."""

from __future__ import annotations

import json

import pytest

from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.ports.connector import FetchError
from connectors.discord.client import Endpoints
from connectors.discord.incoming import Reader, Spot
from connectors.discord.intake import Places
from connectors.discord.rest import Rest
from connectors.discord.settings import DiscordConfig
from tests.platforms.discord_stage import discord_stage

ELSEWHERE = [
    "http://cdn.discordapp.com/a",
    "https://cdn.discordapp.com:8443/a",
    "https://cdn.discordapp.com@evil.example/a",
    "https://evil.example\\@cdn.discordapp.com/a",
    "https://evil.example/cdn.discordapp.com",
    "https://cdn.discordapp.com.evil.example/a",
    "https://evil.example#.cdn.discordapp.com",
    "//evil.example/a",
    "/etc/passwd",
    "file:///etc/passwd",
    "http://169.254.169.254/latest",
    "http://[::1]:1/",
    "https://",
    "",
]


@pytest.mark.parametrize("url", ELSEWHERE)
async def test_files_come_from_discord_only(url: str) -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        with pytest.raises(FetchError) as caught:
            await connector.fetch(json.dumps(["1", "2", "3", url]), 1_000)
        assert caught.value.permanent


@pytest.mark.parametrize("source", ["", "[]", "1", "null", "{}", '["1"]', '["1","2","3",4]', '["1","2","3",null]'])
async def test_a_source_that_is_none_is_no_error_of_ours(source: str) -> None:
    async with discord_stage() as stage:
        connector = await stage.connector()
        with pytest.raises(FetchError):
            await connector.fetch(source, 1_000)


def test_forwarded_words_are_not_the_senders() -> None:
    author = {"id": "7", "username": "ann"}
    data = {
        "id": "1400000000000000000", "channel_id": "5", "author": author, "content": "", "attachments": [],
        "message_snapshots": [{"message": {"content": "/new"}}],
    }  # fmt: skip
    reader = Reader("main", "42", DiscordConfig.model_validate({"token": "x"}))
    message = reader.message(data, Spot("5", direct=True))
    assert message.forwarded
    assert message.content == "/new"
    assert message.quotations == (Quotation(QuotationKind.FORWARD, Writer.OTHER),)
    assert not reader.message(data | {"message_snapshots": [], "content": "/new"}, Spot("5", direct=True)).forwarded


@pytest.mark.parametrize(("kind", "direct"), [(1, True), (3, False), (0, False)])
def test_a_group_of_people_is_no_talk_between_two(kind: int, *, direct: bool) -> None:
    rest = Rest(token="x", endpoints=Endpoints.of(None, None), jitter=lambda: 0.0)
    assert Places(rest=rest).learn({"id": "5", "type": kind}).direct is direct
