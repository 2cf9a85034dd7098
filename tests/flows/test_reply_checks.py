"""Replies that are continued after a cut, replies in a format, and the effort that reaches the model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.events import Delta
from arvis.domain.messages import MessageStatus
from arvis.domain.reply_format import ReplyFormat
from arvis.domain.runs import LENGTH, RunResult
from arvis.messaging import notices
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import said

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(effort="low")], continuations=2) as app:
        yield app


def cut(text: str) -> RunResult:
    return replace(said(text), stop_reason=LENGTH)


def wanted(schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"format": ReplyFormat(schema).to_json()}


async def test_a_cut_reply_is_continued_and_stored_as_one(app: AppHarness) -> None:
    app.provider.script += [cut("The cat sat on"), " the mat."]
    timeline = await app.ask("Tell me")
    assert (timeline.reply, timeline.reason) == ("The cat sat on the mat.", "bot_assignment")
    assert await app.until_sent(1) == ["The cat sat on the mat."]
    assert app.provider.prompts[-1][-2] == "assistant: The cat sat on"
    assert "Continue exactly where it ends" in app.provider.prompts[-1][-1]
    shown = [event for event in app.events if isinstance(event, Delta)]
    assert shown[0].offset == len("The cat sat on")  # a stream continues where the cut part ends
    await app.ask("And then?")
    assert app.provider.prompts[-1][-2:] == ["assistant: The cat sat on the mat.", "user: And then?"]


async def test_a_reply_is_continued_only_so_often(app: AppHarness) -> None:
    app.provider.script += [cut("a"), cut("b"), cut("c")]
    timeline = await app.ask("Tell me")
    assert timeline.reply == f"abc{notices.CUT_TOKENS}"
    assert timeline.reason == "cut"
    assert len(app.provider.asked) == 3


async def test_a_client_with_a_limit_of_its_own_gets_the_cut_reply(app: AppHarness) -> None:
    app.provider.script += [cut("a")]
    timeline = await app.ask("Tell me", wishes={"max_tokens": 5})
    assert timeline.reason == "cut"
    assert len(app.provider.asked) == 1


async def test_the_effort_of_the_message_comes_before_that_of_the_agent(app: AppHarness) -> None:
    await app.ask("Quick")
    await app.ask("Slow", wishes={"effort": "high"})
    low, high = app.provider.asked
    assert (low.effort, high.effort) == ("low", "high")
    assert high.max_tokens - low.max_tokens == 16_384 - 2_048  # vendors count thoughts as a part of the reply


async def test_a_reply_in_a_wrong_format_is_corrected_once(app: AppHarness) -> None:
    app.provider.script += ['{"age": "ten"}', '```json\n{"age": 10}\n```']
    timeline = await app.ask("How old?", wishes=wanted(SCHEMA))
    assert timeline.reply == '{"age": 10}'
    first, second = app.provider.asked
    assert '"required": ["age"]' in first.changing
    assert first.format == ReplyFormat(SCHEMA)
    assert "`age` must be integer" in second.turns[-1].content
    assert not [event for event in app.events if isinstance(event, Delta)]


async def test_a_second_wrong_reply_fails_the_turn(app: AppHarness) -> None:
    app.provider.script += ["ten", "eleven"]
    received = await app.say("How old?", wishes=wanted())
    timeline = await app.until_status(received.message_id, MessageStatus.FAILED)
    assert len(app.provider.asked) == 2
    assert (timeline.reason, timeline.reply) == (
        "wrong_format",
        "The model's answer does not have the requested format: it is not JSON.",
    )


async def test_an_agent_without_these_settings_has_an_unchanged_request(database: Database) -> None:
    async with open_app(database) as app:
        await app.ask("Hello")
        (request,) = app.provider.asked
        assert (request.effort, request.format, request.sampling) == (None, None, {})
        assert "JSON" not in request.changing
