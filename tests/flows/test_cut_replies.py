"""Replies that the output limit cuts, and replies without text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.markup import closed
from arvis.domain.messages import MessageStatus
from arvis.domain.runs import LENGTH, RunResult
from arvis.domain.tools import ToolCall
from arvis.messaging import notices
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import asking, call, said
from tests.flows.web_server import running_site


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(tools=("look",), allow_users=("ann",))]) as app:
        yield app


def cut(text: str) -> RunResult:
    return replace(said(text), stop_reason=LENGTH)


async def test_a_cut_reply_says_so_to_people_the_model_and_explain(app: AppHarness) -> None:
    app.provider.script += [cut("The first half of")]
    timeline = await app.ask("Tell me")
    assert timeline.reply == f"The first half of{notices.CUT_TOKENS}"
    assert (timeline.status, timeline.reason) == (MessageStatus.ANSWERED, "cut")
    assert await app.until_sent(1) == [timeline.reply]
    await app.ask("Go on")
    assert any("reached the output limit" in line for line in app.provider.prompts[-1])


async def test_the_api_tells_that_an_answer_was_cut(app: AppHarness, tmp_path: object) -> None:
    app.provider.script += [cut("The first half of")]
    message = (await app.ask("Tell me")).message.id
    async with running_site(tmp_path, behind=app) as site:  # type: ignore[arg-type]
        told = (await site.call("GET", f"/api/messages/{message}")).json()
    assert told["reason"] == "cut"
    assert "the answer reached the output limit and was cut" in told["explanation"]


@pytest.mark.parametrize(
    "left_open",
    ["[MEMORY:sticky] Never forget to", "[MEMORY:sticky]\nNever\nforget", "[DELEGATE:bob] Do the", "[STATE:x] 1"],
)
async def test_a_tag_that_the_limit_leaves_open_is_not_carried_out(app: AppHarness, left_open: str) -> None:
    app.provider.script += [cut(f"Well. [MEMORY:fact] Kept. [/MEMORY] And {left_open}")]
    timeline = await app.ask("Remember")
    assert "Well." in (timeline.reply or "")
    assert "output limit" in (timeline.reply or "")
    await app.ask("What do you know?")
    prompt = app.provider.asked[-1]
    assert "Kept." in prompt.changing
    assert not any(word in prompt.changing for word in ("forget", "Do the", "x: 1", "x = 1"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("whole [MEMORY:a] b [/MEMORY]", "whole [MEMORY:a] b [/MEMORY]"),
        ("a [MEMORY:a] b", "a"),
        ("a [MEMORY:a] b\nc", "a [MEMORY:a] b\nc"),
        ("a <AGENT_DONE><KEY_RESULT>x", "a"),
        ("```\n[MEMORY:a] b", "```\n[MEMORY:a] b"),
    ],
)
def test_a_text_is_closed_before_the_tag_that_its_end_leaves_open(text: str, left: str) -> None:
    assert closed(text) == left


async def test_a_limit_that_leaves_no_word_gets_a_clear_notice_at_once(app: AppHarness) -> None:
    app.provider.script += [cut("")]
    timeline = await app.ask("Tell me")
    assert timeline.reply == notices.CUT_EMPTY
    assert len(app.provider.asked) == 1


async def test_half_a_call_is_not_made_and_the_model_is_told(app: AppHarness) -> None:
    half = replace(asking(ToolCall("c1", "look", None, '{"words": "a', partial=True)), stop_reason=LENGTH)
    app.provider.script += [half, "Done."]
    assert (await app.ask("Look")).reply == "Done."
    assert app.tools.look.calls == []
    assert "output limit" in app.provider.asked[-1].turns[-1].outputs[0].content


async def test_an_empty_reply_after_a_tool_is_the_end_of_the_work(app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "look", words="a")), said("")]
    timeline = await app.ask("Look")
    assert timeline.reply == "I have completed my task."
    assert len(app.provider.asked) == 2
    assert app.tools.look.calls == [{"words": "a"}]


async def test_an_empty_reply_without_a_tool_is_asked_for_again_a_few_times_and_then_told(app: AppHarness) -> None:
    app.provider.script += [said("")] * 20
    received = await app.say("Hello")

    async def failed() -> bool | None:
        app.clock.put_forward(20)
        return True if (await app.timeline(received.message_id)).status is MessageStatus.FAILED else None

    await app.until(failed)
    timeline = await app.timeline(received.message_id)
    assert timeline.reason == "empty"
    assert len(app.provider.asked) == 4
    assert "gave only empty answers" in (await app.until_sent(1))[0]
