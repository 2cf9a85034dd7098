"""Attacks on Slack: by a manipulated agent, and by users with malicious files."""

from __future__ import annotations

import re

import pytest
from pydantic import SecretStr

from arvis.domain.messages import OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.ports.connector import SendError
from arvis.testing.conformance.connector_stage import delivery
from connectors.slack.files import is_slacks
from connectors.slack.formatting import message_of
from connectors.slack.incoming import BotIdentity, Reader
from connectors.slack.settings import SlackConfig
from tests.platforms.recording_inbox import RecordingInbox
from tests.platforms.slack_server import SIGNING_SECRET, signed
from tests.platforms.slack_stage import SlackStage

#: The mentions that Slack recognises in its own markup, and in text that it searches for names.
PINGS = re.compile(
    r"<(?:!(?:channel|here|everyone|subteam)|[@#][A-Z0-9])|(?<![\w.])@(?:here|channel|everyone)\b", re.IGNORECASE
)


@pytest.mark.parametrize(
    "text",
    [
        "<!channel>",
        "\\<!channel>",
        "<\\!channel>",
        "&lt;!channel&gt;",
        "&#60;!here&#62;",
        "&#x3C;!here>",
        "<&#33;everyone>",
        "<&excl;everyone>",
        "&#64;channel",
        "&commat;here",
        "<!subteam^S0123>",
        "<!CHANNEL>",
        "@Everyone",
        "<@U123ABC>",
        "<\\@U123ABC>",
        "&lt;@U123ABC&gt;",
        "[x](!channel)",
        '[x](!here "title")',
        "[x](<!channel>)",
        "[](!channel)",
        "[a](@U123ABC)",
        "[a](#C123ABC)",
        "[l]\n\n[l]: !channel",
        "`<!channel>`",
        "```\n<!channel>\n```",
        "> <!here>",
        "| <!here> |\n|---|",
    ],
)
def test_no_spelling_of_a_mention_calls_anybody(text: str) -> None:
    for plain in (False, True):
        message = message_of(text, (), plain=plain)
        shown = [message["text"], *(block["text"] for block in message["blocks"])]
        texts = [each["text"] if isinstance(each, dict) else each for each in shown]
        assert [each for each in texts if PINGS.search(each)] == []


async def test_a_changed_message_is_not_read_for_names() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address()
        shown = await connector.show_draft(address, "key", "working", ())
        assert shown is not None
        await connector.change_draft(address, shown, "@ann look", ())
        asked = [call.values for call in stage.server.asked if call.method == "chat.update"]
        assert [each.get("parse") for each in asked] == ["none"]


@pytest.mark.parametrize(
    "url",
    [
        "http://files.slack.com/a",
        "https://files.slack.com:8443/a",
        "https://slack.com.evil.example/a",
        "https://evilslack.com/a",
        "https://files.slack.com@evil.example/a",
        "https://evil.example#.slack.com",
        "https://evil.example?.slack.com",
        "https://evil.example/.slack.com",
        "https://evil。example/.slack.com",
        "https://[::1].slack.com/a",
        "file:///etc/passwd",
        "//evil.example/a",
        "ftp://files.slack.com/a",
        "",
    ],
)
def test_the_token_goes_nowhere_else(url: str) -> None:
    assert not is_slacks(url, "https://slack.com/api")


@pytest.mark.parametrize(("uploader", "own"), [("U0ANN", True), ("U0BOB", False)])
def test_a_recording_of_somebody_else_is_not_the_senders_word(uploader: str, *, own: bool) -> None:
    reader = Reader("main", SlackConfig(bot_token=SecretStr("xoxb-1")), BotIdentity("T1", "U0BOT", "B0BOT", "arvis"))
    clip = {"id": "F1", "name": "clip.webm", "subtype": "slack_audio", "user": uploader, "url_private": "https://x"}
    event = {"type": "message", "channel": "D0ANN", "user": "U0ANN", "ts": "1790000000.000100", "files": [clip]}
    [file] = reader.message(event, {}, None).files
    assert file.voice is own


@pytest.mark.parametrize(
    "header",
    [
        {"x-slack-request-timestamp": "abc"},
        {"x-slack-request-timestamp": ""},
        {"x-slack-request-timestamp": "²"},
        {"x-slack-request-timestamp": "9" * 5_000},
        {"x-slack-signature": "é"},
        {"x-slack-signature": ""},
        {"x-slack-signature": "v0="},
    ],
)
async def test_odd_headers_are_refused_without_a_word(header: dict[str, str]) -> None:
    async with SlackStage.open() as stage:
        body, inbox = "{}", RecordingInbox()
        connector = await stage.connector(
            app_token=None, signing_secret=SIGNING_SECRET, public_url="https://arvis.example"
        )
        answer = await connector.webhook({**signed(body), **header}, body.encode(), inbox)
        assert answer.status == 401
        assert stage.server.asked == []


@pytest.mark.parametrize("url", ["https://evil.example/upload", "http://169.254.169.254/", "file:///etc/passwd", ""])
async def test_a_file_is_handed_to_nobody_else(url: str) -> None:
    async with SlackStage.open() as stage:

        def elsewhere(values: dict[str, object]) -> dict[str, object]:
            return {"upload_url": url, "file_id": "F1", "length": values["length"]}

        stage.server.api.do_files_getUploadURLExternal = elsewhere  # type: ignore[method-assign]
        connector, file = await stage.connector(), OutgoingFile("a.txt", "text/plain", 5, content="hello")
        part = Part(delivery(stage.address(), ""), 0, Piece("", (), (file,)))
        if url:
            await connector.send(part)
            assert "could not be sent" in stage.shown(stage.address())[0].text
        else:
            with pytest.raises(SendError):
                await connector.send(part)
