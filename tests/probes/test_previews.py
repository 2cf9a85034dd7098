"""Link previews: no request to a platform lets it fetch a link, whatever kind of message contains the link."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.messages import Address, Button, OutgoingFile
from arvis.domain.platforms import Part
from arvis.testing.conformance.connector_stage import delivery, parts_of
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.slack_stage import SlackStage
from tests.platforms.telegram_stage import TelegramStage

LINK = "https://evil.example/?d=hunter2"
TEXT = f"[here]({LINK}) {LINK} ![x]({LINK}) <{LINK}>"
KEY = "01JX0000000000000000000001"
STOP = (Button("stop:1", f"Stop {LINK}"),)
FILE = OutgoingFile("report.txt", "text/plain", 5, content="hello")
VOICE = OutgoingFile("voice.ogg", "audio/ogg", 5, content="OggS!")


async def send_every_kind(connector: Any, place: Address) -> int:
    """Send a text, a long text, buttons, a reply, files with a caption, a draft, its change, and the answer that replaces it.
    Return the number of requests."""
    kinds: list[dict[str, Any]] = [
        {"content": TEXT},
        {"content": f"{TEXT} " * 100},
        {"content": TEXT, "buttons": STOP},
        {"content": TEXT, "files": [FILE]},
        {"content": TEXT, "files": [VOICE]},
        {"content": f"```\n{TEXT}\n```\n| a | b |\n|---|---|\n| {LINK} | {TEXT} |"},
    ]
    parts = [
        part
        for number, kind in enumerate(kinds)
        for part in parts_of(connector, delivery(place, number=number, **kind))
    ]
    for part in parts:
        await connector.send(part)
    draft = await connector.show_draft(place, KEY, TEXT, STOP)
    await connector.change_draft(place, draft, f"{TEXT} and more", STOP)
    answer: Part = parts_of(connector, delivery(place, TEXT, number=90))[0]
    await connector.send(replace(answer, platform_id=draft))
    return len(parts) + 3


@pytest.fixture
async def discord() -> AsyncIterator[DiscordStage]:
    async with discord_stage() as stage:
        yield stage


async def test_discord_suppresses_embeds_in_every_message(discord: DiscordStage) -> None:
    place = discord.address()
    sent = await send_every_kind(await discord.connector(), place)
    bodies = discord.server.rest.bodies
    assert len(bodies) >= sent
    assert [body for body in bodies if body.get("flags", 0) & 4 == 0] == []
    assert all(message["flags"] & 4 for message in discord.server.world.messages[discord.place()["id"]].values())


@pytest.mark.parametrize("rich", [False, True])
async def test_telegram_disables_previews_in_every_text(rich: bool) -> None:
    async with TelegramStage.open() as stage:
        await send_every_kind(await stage.connector(rich=rich), stage.address(direct=True))
        await send_every_kind(await stage.connector(rich=rich), stage.address())
        texts = [request for request in stage.server.requests if request.parameters.get("text")]
        # The placeholder of a draft has no preview option, and no link but the text of a button.
        placed = [each for each in texts if LINK in f"{each.parameters['text']}{each.parameters.get('entities')}"]
        assert {request.method for request in placed} >= {"editmessagetext"} | (set() if rich else {"sendmessage"})
        assert [
            request.method
            for request in placed
            if request.parameters.get("link_preview_options") != {"is_disabled": True}
        ] == []
        # Captions and rich messages have no previews; rich messages could show images.
        others = [
            request for request in stage.server.requests if request not in texts and LINK in str(request.parameters)
        ]
        assert others
        assert not any("<img" in str(request.parameters) for request in others)


async def test_slack_unfurls_no_message() -> None:
    async with SlackStage.open() as stage:
        sent = await send_every_kind(await stage.connector(), stage.address())
        posts = [one for one in stage.channel("room").messages if one.get("bot_id") and not one.get("files")]
        assert len(posts) + 2 >= sent - 4
        assert {(one["asked_unfurl_links"], one["asked_unfurl_media"]) for one in posts} == {(False, False)}
        # Slack shows the images of a Markdown block, so a reply has none whose address is not known (`outgoing_links`).
