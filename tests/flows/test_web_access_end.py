"""Access ends at once: keys, logins, sockets, streams and waiting requests, in every process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.events import Changed
from arvis.domain.messages import MessageStatus, PrincipalRole
from arvis.ports.store import Transaction
from arvis.services import people
from arvis.web.auth.open_access import OpenAccess
from arvis.web.http.identity import Identity, Role
from arvis.web.http.limits import Timeouts
from tests.flows.web_server import (
    CHAT_KEY,
    DAEMON_KEY,
    OPERATOR_KEY,
    OWNER_KEY,
    Site,
    eventually,
    running_site,
)

#: The limit in seconds until open access ends.
AT_ONCE = 5.0
CHAT = "/v1/chat/completions"
ASKED = {"model": "helper", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    # No periodic check ends access here.
    async with running_site(tmp_path, patience=Timeouts(look=60.0, keepalive=60.0, renewal=600.0)) as site:
        await site.store.write(lambda tx: tx.agents.add(Agent(id="a1", slug="helper", name="helper"), 0))
        yield site


async def made_key(site: Site, role: str) -> tuple[str, str]:
    """Create a key, and return it with its user id."""
    answer = await site.call("POST", "/api/keys", json={"name": "Program", "role": role})
    assert answer.status == 201, answer.text
    made = answer.json()
    return made["key"], f"key-{made['id']}"


async def give(site: Site, user_id: str, role: PrincipalRole) -> None:
    """Give a role as the page does, in the row and on the bus."""

    def script(tx: Transaction) -> None:
        person = tx.principals.seen("web", user_id, "Program", None, site.clock.now())
        people.change(tx, person.id, role=role, paired=None, owners={}, by="", now=site.clock.now())

    await site.store.write(script)
    site.bus.publish(Changed("people"))


async def block(site: Site, user_id: str) -> None:
    await give(site, user_id, PrincipalRole.BLOCKED)


async def user_of(site: Site, key: str) -> str:
    return str((await site.call("GET", "/api/auth/me", key=key)).json()["userId"])


@pytest.mark.parametrize("configured", [True, False])
async def test_a_key_of_somebody_who_is_blocked_opens_nothing(site: Site, configured: bool) -> None:
    key = OPERATOR_KEY if configured else (await made_key(site, "operator"))[0]
    user = await user_of(site, key)
    assert (await site.call("GET", "/api/jobs", key=key)).status == 200
    await block(site, user)
    for method, path, body in (
        ("GET", "/api/jobs", None),
        ("GET", "/api/auth/me", None),
        ("POST", "/api/messages", {"content": "x"}),
        ("POST", CHAT, ASKED),
        ("GET", "/v1/models", None),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ):
        answer = await site.call(method, path, key=key, json=body)
        assert (answer.status, answer.code) == (403, "blocked"), (path, answer.text)
    assert site.inbox.received == []


async def test_a_key_opens_again_when_its_person_is_blocked_no_more(site: Site) -> None:
    key, user = await made_key(site, "chat")
    await block(site, user)
    await give(site, user, PrincipalRole.MEMBER)
    assert (await site.call("GET", "/api/auth/me", key=key)).status == 200


@pytest.mark.parametrize("key", [CHAT_KEY, OPERATOR_KEY])
async def test_a_socket_of_a_blocked_key_closes_at_once(site: Site, key: str) -> None:
    async with site.socket(apiKey=key) as socket:
        user = await user_of(site, key)
        begun = time.monotonic()
        await block(site, user)
        assert await socket.close_code() == 4001
        assert time.monotonic() - begun < AT_ONCE
    with pytest.raises(AssertionError, match="blocked"):
        async with site.socket(apiKey=key):
            pass


async def test_a_stream_of_a_blocked_key_ends_at_once_with_the_reason(site: Site) -> None:
    headers = {"Authorization": f"Bearer {CHAT_KEY}"}
    async with site.http.post(site.url + CHAT, json={**ASKED, "stream": True}, headers=headers) as response:
        user = await user_of(site, CHAT_KEY)
        await block(site, user)
        async with asyncio.timeout(AT_ONCE):
            text = (await response.content.read()).decode()
    assert '"code":"access_ended"' in text


async def waiting_for(site: Site, path: str, key: str, **more: Any) -> asyncio.Task[Any]:
    call = asyncio.create_task(site.call("POST" if more else "GET", path, key=key, **more))
    await eventually(lambda: site.parts.board._watches)
    return call


async def test_requests_that_wait_end_at_once_and_tell_nothing(site: Site) -> None:
    user = await user_of(site, CHAT_KEY)
    whole = await waiting_for(site, CHAT, CHAT_KEY, json=ASKED)
    await block(site, user)
    async with asyncio.timeout(AT_ONCE):
        answer = await whole
    assert (answer.status, answer.code) == (401, "access_ended")


async def test_a_wait_for_a_message_ends_with_its_key(site: Site) -> None:
    key, user = await made_key(site, "operator")
    await site.call("POST", "/api/messages", json={"content": "a secret"})
    waiting = await waiting_for(site, "/api/messages/m1/wait?timeout=30", key)
    await block(site, user)
    async with asyncio.timeout(AT_ONCE):
        answer = await waiting
    assert (answer.status, answer.code) == (401, "access_ended")
    assert "a secret" not in answer.text


async def test_a_revoked_key_ends_its_streams_too(site: Site) -> None:
    made = (await site.call("POST", "/api/keys", json={"name": "Program", "role": "chat"})).json()
    whole = await waiting_for(site, CHAT, made["key"], json=ASKED)
    assert (await site.call("DELETE", f"/api/keys/{made['id']}")).status == 200
    async with asyncio.timeout(AT_ONCE):
        assert (await whole).code == "access_ended"


async def test_who_is_given_a_lesser_role_keeps_no_socket_of_the_old_one(site: Site) -> None:
    answer = await site.call("POST", "/api/users", json={"id": "amy", "name": "Amy", "role": "operator"})
    assert answer.status == 201, answer.text
    entered = await site.call("POST", "/api/auth/login", key=None, json={"code": answer.json()["link"]["code"]})
    cookie = entered.headers["set-cookie"].partition(";")[0]
    async with site.socket(apiKey=None, headers={"Cookie": cookie, "Origin": site.url}) as socket:
        assert (await site.call("PATCH", "/api/users/amy", json={"role": "chat"})).status == 200
        begun = time.monotonic()
        assert await socket.close_code() == 4001
        assert time.monotonic() - begun < AT_ONCE


async def test_access_of_others_goes_on(site: Site) -> None:
    async with site.socket(apiKey=OWNER_KEY) as socket:
        whole = await waiting_for(site, CHAT, OPERATOR_KEY, json=ASKED)
        await block(site, await user_of(site, CHAT_KEY))
        await socket.send(type="ping")
        await socket.until("pong")
        site.rest("m1", MessageStatus.ANSWERED, reply="Here.")
        assert (await whole).status == 200


async def test_the_daemons_own_key_cannot_be_shut_out(site: Site) -> None:
    await block(site, "owner")
    assert (await site.call("GET", "/api/auth/me", key=DAEMON_KEY)).status == 200


async def test_what_changes_in_the_middle_of_a_look_is_looked_at_again(site: Site) -> None:
    ann = Identity(Role.VIEWER, "ann", "Ann", session="s1")
    answers: list[Identity | None] = [ann, None]
    asked, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def renew(_: Identity) -> Identity | None:
        found = answers.pop(0)
        asked.set()
        await go_on.wait()
        return found

    access = OpenAccess(renew=renew)
    with access.listening(site.bus), access.held(ann, ended.set):
        site.bus.publish(Changed("users", "ann"))
        async with asyncio.timeout(5):
            await asked.wait()
        site.bus.publish(Changed("users", "ann"))
        go_on.set()
        async with asyncio.timeout(5):
            await ended.wait()


async def test_what_begins_just_after_the_end_of_its_access_ends_too(site: Site) -> None:
    """The request is admitted before the change, and begins to wait after it."""
    ann, ended = Identity(Role.CHAT, "ann", "Ann", key="k1"), asyncio.Event()

    async def renew(_: Identity) -> Identity | None:
        return None

    access = OpenAccess(renew=renew)
    with access.listening(site.bus):
        site.bus.publish(Changed("people", "ann"))
        with access.held(ann, ended.set):
            async with asyncio.timeout(5):
                await ended.wait()
