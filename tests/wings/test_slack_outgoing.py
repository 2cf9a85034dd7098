"""Outgoing messages of the bot: once, in order, in a form that Slack accepts; the token goes only to Slack."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest

from arvis.domain.messages import Button, ButtonStyle, OutgoingFile
from arvis.ports.connector import BadSetting, FetchError, SendError
from arvis.testing.conformance.connector_stage import delivery, failure_of, parts_of, send_all
from connectors.slack.formatting import silent
from tests.platforms.slack_server import Fault
from tests.platforms.slack_stage import SlackStage

REPORT = OutgoingFile("report.txt", "text/plain", 5, content="hello")


async def test_an_answer_goes_into_its_thread_without_previews_or_names() -> None:
    async with SlackStage.open() as stage:
        address = stage.address(thread="plans")
        await send_all(await stage.connector(), delivery(address, "**hello** https://a.example"))
        [message] = [one for one in stage.channel("room").messages if one.get("bot_id")]
        assert message["thread_ts"] == address.thread
        assert (message["asked_unfurl_links"], message["asked_unfurl_media"]) == (False, False)
        assert not message["asked_link_names"]
        assert message["blocks"] == [{"type": "markdown", "text": "**hello** https://a.example"}]
        assert message["text"].startswith("*hello*")


async def test_what_arrived_is_found_by_its_key_and_nothing_else_is() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address(thread="plans")
        now = int(time.time() * 1000)
        [part] = parts_of(connector, delivery(address, "only once"))
        assert await connector.find(part) is None
        tried = replace(part, tried_at=now)
        assert await connector.find(tried) is None
        stage.reset_sends(1, after=True)
        error = await failure_of(connector, part)
        assert error is not None
        assert error.uncertain
        [shown] = stage.shown(address)
        found = await connector.find(tried)
        assert found is not None
        assert found.platform_id == shown.platform_id
        [other] = parts_of(connector, delivery(address, "only once", number=2))
        assert await connector.find(replace(other, tried_at=now)) is None


@pytest.mark.parametrize("scope", ["metadata.message:read", "channels:history"])
async def test_without_the_scopes_for_it_nobody_can_tell(scope: str) -> None:
    async with SlackStage.open() as stage:
        stage.world.scopes.discard(scope)
        connector, address = await stage.connector(), stage.address()
        [part] = parts_of(connector, delivery(address, "only once"))
        await connector.send(part)
        with pytest.raises(SendError) as caught:
            await connector.find(replace(part, tried_at=int(time.time() * 1000)))
        assert caught.value.permanent
        assert not caught.value.gone
        assert scope in str(caught.value)


async def test_files_that_were_cut_off_are_shown_once_below_the_one_text() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address()
        for number, reset in enumerate(("before", "after"), 1):
            stage.server.faults = [Fault(1, reset=reset, methods=frozenset({"files.completeUploadExternal"}))]
            [part] = parts_of(connector, delivery(address, f"report {number}", number=number, files=[REPORT]))
            error = await failure_of(connector, part)
            assert error is not None
            assert error.uncertain
            tried = replace(part, tried_at=int(time.time() * 1000))
            found = await connector.find(tried)
            assert (found is None) == (reset == "before")
            found = found or await connector.send(tried)
            shown = stage.shown(address)[2 * (number - 1) :]
            assert [(one.text, one.files) for one in shown] == [(f"report {number}", ()), ("", ("report.txt",))]
            assert found.platform_id == shown[0].platform_id


async def test_a_file_of_another_bot_with_the_same_name_is_not_the_bots_own() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address()
        stage.server.faults = [Fault(1, reset="before", methods=frozenset({"files.completeUploadExternal"}))]
        [part] = parts_of(connector, delivery(address, "report", files=[REPORT]))
        assert await failure_of(connector, part) is not None
        other = {"subtype": "bot_message", "bot_id": "B0OTHER01", "text": "", "files": [{"name": "report.txt"}]}
        stage.write(stage.channel("room"), other)
        tried = replace(part, tried_at=int(time.time() * 1000))
        assert await connector.find(tried) is None
        await connector.send(tried)
        assert [one.files for one in stage.shown(address)][-1] == ("report.txt",)


async def test_buttons_have_their_looks() -> None:
    async with SlackStage.open() as stage:
        address = stage.address()
        buttons = [
            Button("a", "Yes", ButtonStyle.PRIMARY),
            Button("b", "x" * 100, ButtonStyle.DANGER),
            Button("c", "?"),
        ]
        await send_all(await stage.connector(), delivery(address, "", buttons=buttons))
        [message] = [one for one in stage.channel("room").messages if one.get("bot_id")]
        [actions] = message["blocks"]
        assert [element.get("style") for element in actions["elements"]] == ["primary", "danger", None]
        assert [len(element["text"]["text"]) for element in actions["elements"]] == [3, 75, 1]


async def test_where_markdown_blocks_are_not_taken_sections_are() -> None:
    async with SlackStage.open() as stage:
        stage.server.takes_markdown = False
        address = stage.address()
        text = "**bold** and more. " * 300
        await send_all(await stage.connector(), delivery(address, text, buttons=[Button("a", "Yes")]))
        [shown] = stage.shown(address)
        assert shown.text.startswith("*bold* and more.")
        assert shown.buttons == ("a",)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<!channel> and <!here|here>", True),
        ("<@U0ANN> and <!subteam^S123>", True),
        ("@here", True),
        ("<!DOCTYPE html> <a@b.example> me@here.example", False),
    ],
)
def test_mentions_are_broken_and_nothing_else(text: str, calls: bool) -> None:
    assert (silent(text) != text) == calls
    assert silent(text).replace("\u2060", "") == text
    assert "<!channel" not in silent(text)
    assert "<@U" not in silent(text)


@pytest.mark.parametrize(
    ("code", "permanent", "gone"),
    [
        ("is_archived", True, True),
        ("not_in_channel", True, True),
        ("msg_too_long", True, False),
        ("missing_scope", True, False),
        ("token_revoked", False, False),
        ("internal_error", False, False),
        ("ratelimited", False, False),
    ],
)
async def test_what_slack_says_is_understood(code: str, permanent: bool, gone: bool) -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector()
        stage.server.faults = [Fault(1, error=code)]
        [part] = parts_of(connector, delivery(stage.address(), "hello"))
        error = await failure_of(connector, part)
        assert error is not None
        assert (error.permanent, error.gone) == (permanent, gone)
        assert error.uncertain == (code == "internal_error")
        assert (error.retry_after is not None) == (code in {"ratelimited", "token_revoked"})


async def test_a_slack_that_is_away_is_waited_for() -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector(api_url="http://127.0.0.1:1/api")
        error = await failure_of(connector, parts_of(connector, delivery(stage.address(), "hello"))[0])
        assert error is not None
        assert (error.permanent, error.uncertain, error.retry_after) == (False, False, 30.0)


async def test_the_token_goes_to_slack_only() -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector()
        for url in ("https://files.slack.com.evil.example/x", "http://files.slack.com/x", "https://evil.example/x"):
            with pytest.raises(FetchError, match="not stored at Slack") as caught:
                await connector.fetch(json.dumps({"url": url}), 1_000)
            assert caught.value.permanent


async def test_a_login_page_is_no_file() -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector()
        stage.server.files["F1"] = ("image/png", b"picture")
        source = json.dumps({"url": f"{stage.server.root}/files-pri/F1", "type": "image/png"})
        assert await connector.fetch(source, 1_000) == b"picture"
        stage.world.scopes.discard("files:read")
        with pytest.raises(FetchError, match="files:read"):
            await connector.fetch(source, 1_000)


async def test_the_doctor_is_told_what_is_missing() -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector()
        assert {finding.level for finding in await connector.check()} == {"ok"}
        stage.world.scopes -= {"chat:write", "metadata.message:read"}
        stage.server.refused_app_token = "invalid_auth"
        found = await connector.check()
        assert [finding.level for finding in found] == ["ok", "error", "warning", "error"]
        assert "chat:write" in found[1].text
        assert "app_token" in found[3].text
        stage.server.refused_token = "account_inactive"
        [refused] = await connector.check()
        assert refused.level == "error"
        assert "bot_token" in refused.text


async def test_typing_is_shown_in_threads_where_the_app_may() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address(thread="plans")
        await connector.typing(address)
        await connector.typing(stage.address())
        assert [status["thread_ts"] for status in stage.server.api.statuses] == [address.thread]
        stage.world.scopes.discard("assistant:write")
        for _ in range(3):
            await connector.typing(address)
        assert len(stage.asked("assistant.threads.setStatus")) == 2


async def test_settings_that_let_no_event_in_are_wrong() -> None:
    async with SlackStage.open() as stage:
        with pytest.raises(BadSetting) as missing:
            await stage.connector(app_token=None)
        assert missing.value.key == "app_token"
        with pytest.raises(BadSetting) as alone:
            await stage.connector(app_token=None, signing_secret="s")
        assert alone.value.key == "signing_secret"


async def test_a_text_whose_files_are_refused_for_now_is_not_sent_again() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address()
        sharing = frozenset({"files.completeUploadExternal"})
        stage.server.faults = [Fault(1, status=429, retry_after=1, methods=sharing)]
        [part] = parts_of(connector, delivery(address, "report", files=[REPORT]))
        part = replace(part, tried_at=int(time.time() * 1000))
        error = await failure_of(connector, part)
        assert error is not None
        assert error.uncertain
        assert error.retry_after == 1
        early = await failure_of(connector, part)
        assert early is not None
        assert 0 < (early.retry_after or 0) <= 1
        await asyncio.sleep(early.retry_after or 0)
        await connector.send(part)
        assert [(one.text, one.files) for one in stage.shown(address)] == [("report", ()), ("", ("report.txt",))]


async def test_files_of_an_answer_that_fills_a_draft_are_shown_once() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address()
        draft = await connector.show_draft(address, "01JX0000000000000000000001", "thinking", ())
        [part] = parts_of(connector, delivery(address, "report", files=[REPORT]))
        for _ in range(2):
            filled = replace(part, platform_id=draft, tried_at=int(time.time() * 1000))
            assert (await connector.send(filled)).platform_id == draft
        assert [(one.text, one.files) for one in stage.shown(address)] == [("report", ()), ("", ("report.txt",))]


async def test_stored_files_leave_with_the_bytes_that_came_along() -> None:
    async with SlackStage.open() as stage:
        connector, address = await stage.connector(), stage.address()
        picture = OutgoingFile("p.png", "image/png", 3, sha256="abc")
        [part] = parts_of(connector, delivery(address, "", files=[picture]))
        await connector.send(replace(part, data={"abc": b"png"}))
        assert [upload["data"] for upload in stage.server.api.uploads.values()] == [b"png"]
