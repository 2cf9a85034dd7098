"""Conversations of `/v1`: requests that continue one, and requests that are repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.messages import MessageStatus
from arvis.domain.taint import CLEAN, Label
from arvis.web.http.limits import Timeouts
from tests.flows.test_web_completions import CHAT, answered, asked, refused
from tests.flows.web_server import CHAT_KEY, OWNER_KEY, Site, eventually, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, patience=Timeouts(look=0.05)) as site:
        yield site


def said(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


BEGIN = (said("user", "My name is Ann."), said("assistant", "Good day."))


async def test_two_chats_of_one_key_share_nothing(site: Site) -> None:
    for _ in range(2):
        await answered(site, asked("Hello"), key=CHAT_KEY)
    await answered(site, asked("Hello"), key=OWNER_KEY)
    assert len({message.address.thread for message in site.inbox.received}) == 3


async def test_a_request_goes_on_with_the_conversation_that_it_tells(site: Site) -> None:
    await answered(site, asked("My name is Ann."))
    await answered(site, asked("Another."))
    await answered(site, asked("Who am I?", *BEGIN), reply="Ann.")
    await answered(site, asked("Sure?", *BEGIN, said("user", "Who am I?"), said("assistant", "Ann.")))
    first, other, second, third = site.inbox.received
    assert first.address == second.address == third.address
    assert other.address != first.address
    assert [message.content for message in (second, third)] == ["Who am I?", "Sure?"]
    assert {message.taint for message in site.inbox.received} == {CLEAN}


@pytest.mark.parametrize(
    "told",
    [
        (said("user", "My name is Bob."), BEGIN[1]),
        (BEGIN[0], said("assistant", "Bad day.")),
        (*BEGIN, said("tool", "x", tool_call_id="1")),
        (BEGIN[0], said("assistant", "Good day.", tool_calls=[{"id": "1"}])),
        (said("user", "Before."), *BEGIN),
    ],
)
async def test_what_was_edited_begins_a_conversation_of_its_own(site: Site, told: tuple[dict[str, Any], ...]) -> None:
    await answered(site, asked("My name is Ann."))
    await answered(site, asked("Who am I?", *told))
    first, second = site.inbox.received
    assert second.address != first.address
    assert f"> {told[0]['content']}" in second.content
    assert second.taint


async def test_an_answer_that_is_asked_for_again_is_not_built_on_the_first(site: Site) -> None:
    await answered(site, asked("My name is Ann."))
    await answered(site, asked("Who am I?", *BEGIN))
    await answered(site, asked("Who am I?", *BEGIN))
    first, second, again = site.inbox.received
    assert first.address == second.address
    assert again.address != first.address
    assert "> My name is Ann." in again.content


async def test_a_changed_system_text_reaches_the_agent(site: Site) -> None:
    await answered(site, asked("My name is Ann.", said("system", "Be brief.")))
    await answered(site, asked("Who?", said("system", "Be brief."), *BEGIN), reply="Ann.")
    again = (*BEGIN, said("user", "Who?"), said("assistant", "Ann."))
    await answered(site, asked("Sure?", said("system", "Be long."), *again))
    _, second, third = site.inbox.received
    assert third.address == second.address
    assert "Be brief." not in second.content
    assert "> Be long." in third.content
    assert "My name" not in third.content
    assert third.taint == CLEAN


async def test_the_system_text_of_another_key_taints(site: Site) -> None:
    await answered(site, asked("Hello", said("system", "Be brief.")), key=CHAT_KEY)
    assert site.inbox.received[0].taint == {Label.PEOPLE}


@pytest.mark.parametrize("header", ["X-OpenWebUI-Chat-Id", "x-conversation-id", "X-Session-Id"])
async def test_chats_that_the_client_names_are_apart(site: Site, header: str) -> None:
    for chat in ("a", "b", "a"):
        await answered(site, asked("Hello"), headers={header: chat})
    await answered(site, asked("Who am I?", said("user", "Hello"), BEGIN[1]), headers={header: "b"})
    first, second, third, fourth = [message.address.thread for message in site.inbox.received]
    assert first.endswith("/a")
    assert second.endswith("/b")
    # Without its history, it continues nothing: it may ask for a title, or be an edited first message.
    assert third.startswith(f"{first}~")
    assert fourth == second


async def test_by_user_the_server_remembers(site: Site) -> None:
    for user in ("a", "b", "a"):
        await answered(site, asked("Hello", user=user))
    first, second, third = [message.address.thread for message in site.inbox.received]
    assert first == third != second


async def test_a_request_that_a_library_sends_again_is_the_same_message(site: Site) -> None:
    first = asyncio.create_task(site.call("POST", CHAT, json=asked("slow")))
    await eventually(lambda: site.inbox.received)
    again = asyncio.create_task(site.call("POST", CHAT, json=asked("slow"), headers={"X-Stainless-Retry-Count": "1"}))
    await eventually(lambda: len(site.parts.board._watches.get("m1", ())) == 2)
    site.rest("m1", MessageStatus.ANSWERED, reply="Late.")
    answers = [await first, await again]
    assert {answer.headers["x-arvis-message-id"] for answer in answers} == {"m1"}
    assert len(site.inbox.received) == 1


async def test_who_went_away_and_asks_the_same_gets_the_same_answer_once(site: Site) -> None:
    board = site.parts.board
    first = asyncio.create_task(site.call("POST", CHAT, json=asked("slow")))
    await eventually(lambda: site.inbox.received)
    first.cancel()
    await eventually(lambda: not board._watches)
    site.rest("m1", MessageStatus.ANSWERED, reply="Late.")
    again = await site.call("POST", CHAT, json=asked("slow"))
    assert again.headers["x-arvis-message-id"] == "m1"
    assert again.json()["choices"][0]["message"]["content"] == "Late."
    await answered(site, asked("slow"))
    assert len(site.inbox.received) == 2


async def test_the_same_question_at_the_same_time_is_two_questions(site: Site) -> None:
    calls = [asyncio.create_task(site.call("POST", CHAT, json=asked("Hello"))) for _ in range(3)]
    await eventually(lambda: len(site.inbox.received) == 3)
    for number in (1, 2, 3):
        site.rest(f"m{number}", MessageStatus.ANSWERED, reply="Good day.")
    assert len({(await call).headers["x-arvis-message-id"] for call in calls}) == 3


async def test_a_key_of_another_request_is_refused(site: Site) -> None:
    headers = {"Idempotency-Key": "once"}
    await answered(site, asked("one"), headers=headers)
    error = await refused(site, asked("two"), headers=headers)
    assert (error["status"], error["code"]) == (422, "key_reused")
    assert len(site.inbox.received) == 1


async def test_what_was_refused_or_failed_leaves_no_gap(site: Site) -> None:
    await answered(site, asked("My name is Ann."))
    site.inbox.full = True
    assert (await refused(site, asked("Who am I?", *BEGIN)))["status"] == 503
    site.inbox.full = False
    call = asyncio.create_task(site.call("POST", CHAT, json=asked("Who am I?", *BEGIN)))
    await eventually(lambda: len(site.inbox.received) == 2)
    site.rest("m2", MessageStatus.FAILED, reason="attempts")
    assert (await call).status == 502
    await answered(site, asked("Who am I?", *BEGIN))
    assert len({message.address.thread for message in site.inbox.received}) == 1
