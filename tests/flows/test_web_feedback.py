"""Ratings of replies over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.messages import Role
from arvis.ports.store import Transaction
from tests.conformance.store.scripts import AGENT, said
from tests.flows.web_script import web_address
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, VIEWER_KEY, Answer, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def answered(site: Site, key: str) -> tuple[str, str]:
    """Store a message of the holder of this key with a reply. Return the id of the message and that of the reply."""
    me = (await site.call("GET", "/api/auth/me", key=key)).json()["userId"]

    def script(tx: Transaction) -> tuple[str, str]:
        now = site.clock.now()
        if tx.agents.get(AGENT.id) is None:
            tx.agents.add(AGENT, now)
        person = tx.principals.seen("web", me, me, None, now)
        talk = tx.conversations.open(AGENT.id, web_address(f"web-{me}"), now)
        asked = replace(
            said(tx.new_id(), execution=None, conversation=talk.id), principal_id=person.id, address=talk.address
        )
        reply = replace(asked, id=tx.new_id(), role=Role.ASSISTANT, principal_id=None, reply_to=asked.id)
        tx.messages.add(asked)
        tx.messages.add(reply)
        tx.messages.answered_by(asked.id, reply.id)
        return asked.id, reply.id

    return await site.store.write(script)


async def rate(site: Site, reply: str, rating: Any, key: str) -> Answer:
    return await site.call("PUT", f"/api/messages/{reply}/feedback", key=key, json={"rating": rating})


async def ratings(site: Site, message: str) -> list[str]:
    found = (await site.call("GET", f"/api/messages/{message}")).json()["feedback"]
    return [each["rating"] for each in found]


async def test_each_person_has_one_rating_of_a_reply(site: Site) -> None:
    message, reply = await answered(site, CHAT_KEY)
    assert (await rate(site, reply, "up", CHAT_KEY)).status == 200
    assert (await rate(site, reply, "down", CHAT_KEY)).status == 200
    assert (await rate(site, reply, "up", DAEMON_KEY)).status == 200
    assert sorted(await ratings(site, message)) == ["down", "up"]
    talk = (await site.call("GET", "/api/conversations?platform=web&limit=1")).json()["items"][0]["id"]
    shown = (await site.call("GET", f"/api/conversations/{talk}/messages")).json()["items"]
    assert [len(each["feedback"]) for each in shown] == [2, 0]
    await site.call("DELETE", f"/api/messages/{reply}/feedback", key=CHAT_KEY)
    assert await ratings(site, message) == ["up"]


async def test_only_replies_that_a_person_may_read_can_be_rated(site: Site) -> None:
    message, reply = await answered(site, DAEMON_KEY)
    assert (await rate(site, reply, "up", CHAT_KEY)).status == 404
    assert (await rate(site, message, "up", DAEMON_KEY)).status == 404
    assert (await rate(site, reply, "up", VIEWER_KEY)).status == 403
    assert (await rate(site, reply, "sideways", DAEMON_KEY)).status == 422
    assert await ratings(site, message) == []
