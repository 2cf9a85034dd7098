"""Rewind over HTTP: rights, versions and effects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.messages import Role
from arvis.ports.store import Transaction
from tests.conformance.store.scripts import AGENT, said
from tests.flows.web_script import web_address
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, VIEWER_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True, real_operations=True) as site:
        yield site


async def answered(site: Site, key: str) -> tuple[str, str, str]:
    """Store an ended turn of the holder of this key. Return the ids of its conversation, message and reply."""
    me = (await site.call("GET", "/api/auth/me", key=key)).json()["userId"]

    def script(tx: Transaction) -> tuple[str, str, str]:
        now = site.clock.now()
        if tx.agents.get(AGENT.id) is None:
            tx.agents.add(AGENT, now)
        person = tx.principals.seen("web", me, me, None, now)
        talk = tx.conversations.open(AGENT.id, web_address(f"web-{me}"), now, direct=True)
        turn = tx.conversations.next_turn(talk.id, now)
        asked = replace(
            said(tx.new_id(), execution=f"e-{me}", conversation=talk.id),
            principal_id=person.id, address=talk.address, turn=turn, agent_id=AGENT.id,
        )  # fmt: skip
        reply = replace(
            asked,
            id=tx.new_id(),
            role=Role.ASSISTANT,
            principal_id=None,
            reply_to=asked.id,
            position=asked.position + 1,
        )
        tx.messages.add(asked)
        tx.messages.add(reply)
        return talk.id, asked.id, reply.id

    return await site.store.write(script)


async def test_a_person_edits_and_branches_only_their_own_messages(site: Site) -> None:
    talk, asked, reply = await answered(site, CHAT_KEY)
    _, other, _ = await answered(site, DAEMON_KEY)
    for path in ("regenerate", "branch"):
        body: dict[str, str] | None = {} if path == "branch" else None
        assert (await site.call("POST", f"/api/messages/{other}/{path}", key=CHAT_KEY, json=body)).status == 404
        assert (await site.call("POST", f"/api/messages/{asked}/{path}", key=VIEWER_KEY, json=body)).status == 403
    effects = (await site.call("GET", f"/api/messages/{reply}/effects", key=CHAT_KEY)).json()
    assert effects == {"turns": 1, "sent": 0, "costUsd": 0, "effects": []}
    made = await site.call("POST", f"/api/messages/{reply}/branch", key=CHAT_KEY, json={})
    assert (made.status, made.json()["agent"]) == (201, AGENT.slug)
    copies = (await site.call("GET", f"/api/conversations/{made.json()['conversationId']}/messages")).json()["items"]
    assert len(copies) == 2

    path = f"/api/messages/{asked}/edit"
    assert (await site.call("POST", path, key=CHAT_KEY, json={"content": " "})).status == 422
    edited = await site.call("POST", path, key=CHAT_KEY, json={"content": "other"})
    assert edited.status == 200
    version = edited.json()["version"]
    [shown] = (await site.call("GET", f"/api/conversations/{talk}/messages", key=CHAT_KEY)).json()["items"]
    assert (shown["id"], shown["content"]) == (version["messageId"], "other")
    assert [each["active"] for each in shown["versions"]] == [False, True]
    listed = (await site.call("GET", f"/api/conversations/{talk}/versions", key=CHAT_KEY)).json()["items"]
    assert [(each["messageId"], each["active"]) for each in listed] == [(asked, False), (version["messageId"], True)]
    old = f"/api/conversations/{talk}/versions/{listed[0]['id']}/activate"
    refused = await site.call("POST", old, key=CHAT_KEY)
    assert (refused.status, refused.json()["error"]["code"]) == (409, "busy")
