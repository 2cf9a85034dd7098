"""Summaries over HTTP: their original messages can be read, and restored once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.graphs.compaction import scripts as rows
from tests.conformance.store.compactions import compact, history, summary, talk
from tests.conformance.store.scripts import NOW
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def compacted(site: Site) -> str:
    """A conversation of six turns, with the first four in two summaries."""
    conversation = await site.store.write(talk, 6)
    await site.store.write(compact, summary("C1", conversation, 1, 2))
    await site.store.write(compact, summary("C2", conversation, 3, 4))
    return conversation


async def test_summaries_are_listed_newest_first(site: Site) -> None:
    conversation = await compacted(site)
    path = f"/api/conversations/{conversation}/summaries"
    first = (await site.call("GET", f"{path}?limit=1", key=VIEWER_KEY)).json()
    assert first["nextCursor"] == "C2"
    rest = (await site.call("GET", f"{path}?cursor=C2")).json()
    (shown,) = rest["items"]
    expected = {
        "id": "C1", "conversationId": conversation, "firstTurn": 1, "lastTurn": 2, "summary": "Turns 1 to 2",
        "status": "active", "tokensSaved": 3, "taint": [], "createdAt": NOW,
    }  # fmt: skip
    assert expected.items() <= shown.items()


async def test_what_a_summary_stands_for_is_shown_in_order(site: Site) -> None:
    await compacted(site)
    shown = (await site.call("GET", "/api/summaries/C2/messages")).json()
    assert [message["content"] for message in shown["items"]] == ["Question 3", "Answer 3", "Question 4", "Answer 4"]
    assert (await site.call("GET", "/api/summaries/unknown/messages")).status == 404


async def test_an_operator_brings_messages_back_once(site: Site) -> None:
    conversation = await compacted(site)
    assert (await site.call("POST", "/api/summaries/C1/restore", key=VIEWER_KEY)).status == 403
    answer = await site.call("POST", "/api/summaries/C1/restore", key=OPERATOR_KEY)
    assert answer.json() == {"ok": True, "messages": 4}
    assert [message.turn for message in await site.store.read(history, conversation)] == [1, 1, 2, 2, 5, 5, 6, 6]
    again = await site.call("POST", "/api/summaries/C1/restore", key=OPERATOR_KEY)
    assert (again.status, again.code) == (409, "conflict")
    assert (await site.call("POST", "/api/summaries/unknown/restore")).status == 404


async def test_what_is_past_its_time_is_not_brought_back(site: Site) -> None:
    await compacted(site)
    await site.store.write(lambda tx: tx.compactions.forget(NOW + 1, 10, NOW + 1))
    assert (await site.call("POST", "/api/summaries/C2/restore")).status == 409
    shown = (await site.call("GET", "/api/summaries/C2/messages")).json()
    assert {message["content"] for message in shown["items"]} == {""}


async def test_after_a_restore_nothing_is_planned_for_some_turns(site: Site) -> None:
    conversation = await compacted(site)
    await site.store.write(rows.restore_messages, "C1", NOW)
    assert await site.store.read(lambda tx: tx.compactions.is_postponed(conversation, planned=True))
    assert not await site.store.read(lambda tx: tx.compactions.is_postponed(conversation, planned=False))
