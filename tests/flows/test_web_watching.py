"""Live pages: a client that watches a topic gets its changes; a client without the right, or without a topic, gets
none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.changes import ChangeTopic
from arvis.domain.events import (
    BotStateChanged,
    Changed,
    DeliverySettled,
    ExecutionPaused,
    NoticesMissed,
    StatusChanged,
)
from arvis.domain.jobs import JobKind, NewJob
from arvis.domain.messages import Address, DeliveryState, MessageStatus
from arvis.domain.platforms import BotState
from arvis.ports.store import Transaction
from arvis.web.http.endpoints import change_by, topic_of
from arvis.web.http.identity import Identity, Role
from arvis.web.realtime.connector import Client
from arvis.web.realtime.subscriptions import Intervals, Subscriptions
from tests.flows.web_server import (
    CHAT_KEY,
    DAEMON_KEY,
    VIEWER_KEY,
    Site,
    Socket,
    eventually,
    running_site,
)

PLACE = Address("telegram", "main", "42", "7")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def watching(socket: Socket, *topics: str) -> None:
    await socket.send(type="watch", topics=list(topics))
    assert set(topics) <= set((await socket.until("watching"))["topics"])


async def changed(socket: Socket, topic: str) -> dict[str, Any]:
    while (found := await socket.until("changed"))["topic"] != topic:
        pass
    return found


# -- notifications -----------------------------------------------------------------------------------------


async def test_a_change_made_over_the_api_is_heard_with_its_id(site: Site) -> None:
    async with site.socket(apiKey=VIEWER_KEY) as socket:
        await watching(socket, "clients", "agents")
        client = (await site.call("POST", "/api/clients", json={"name": "ACME"})).json()["id"]
        assert await changed(socket, "clients") == {"type": "changed", "topic": "clients"}
        await site.call("PATCH", f"/api/clients/{client}", json={"name": "Bolt"})
        assert await changed(socket, "clients") == {"type": "changed", "topic": "clients", "ids": [client]}
        assert (await site.call("PATCH", "/api/clients/none", json={"name": "Bolt"})).status == 404
        await site.call("GET", "/api/clients")
        await site.call("POST", "/api/agents", json={"slug": "new", "name": "New"})
        assert (await socket.until("changed"))["topic"] == "agents"


@pytest.mark.parametrize(
    ("event", "topic", "ids"),
    [
        (StatusChanged(PLACE, "m1", MessageStatus.ANSWERED), "messages", ["m1"]),
        (StatusChanged(PLACE, "m1", MessageStatus.RUNNING), "jobs", None),
        (ExecutionPaused("e1", "w1", "May I?"), "questions", ["w1"]),
        (ExecutionPaused("e1", "w1", "May I?"), "executions", ["e1"]),
        (BotStateChanged("telegram", "main", BotState.ERROR), "bots", ["telegram/main"]),
        (DeliverySettled(PLACE, None, DeliveryState.SENT), "deliveries", None),
        (Changed("memory"), "memory", None),
        (NoticesMissed(), "skills", None),
    ],
)
async def test_events_of_the_bus_are_heard(site: Site, event: Any, topic: str, ids: list[str] | None) -> None:
    async with site.socket() as socket:
        await watching(socket, topic)
        site.bus.publish(event)
        assert (await changed(socket, topic)).get("ids") == ids


async def test_a_conversation_of_any_platform_is_heard_and_no_other(site: Site) -> None:
    here, there = await site.store.write(_converse, site.clock.now())
    async with site.socket(apiKey=VIEWER_KEY) as socket:
        await watching(socket, f"conversation:{here}")
        site.bus.publish(StatusChanged(replace(PLACE, channel="43"), "m2", MessageStatus.ANSWERED))
        site.bus.publish(StatusChanged(PLACE, "m1", MessageStatus.ANSWERED))
        notice = await socket.until("changed")
        assert notice == {"type": "changed", "topic": f"conversation:{here}", "ids": ["m1"]}
        await socket.send(type="watch", topics=["conversation:none"])
        assert (await socket.until("error"))["error"]["code"] == "not_found"
        await socket.send(type="unwatch", topics=[f"conversation:{here}"])
        assert (await socket.until("watching"))["topics"] == []
        await watching(socket, f"conversation:{there}")
        site.bus.publish(StatusChanged(PLACE, "m3", MessageStatus.ANSWERED))
        site.bus.publish(StatusChanged(replace(PLACE, channel="43"), "m4", MessageStatus.ANSWERED))
        assert (await socket.until("changed"))["ids"] == ["m4"]


async def test_the_counters_come_at_once_and_when_they_change(site: Site) -> None:
    async with site.socket() as socket:
        await watching(socket, "overview")
        quiet = await socket.until("counts")
        assert quiet == {
            "type": "counts", "running": 0, "pending": 0, "undelivered": 0, "waiting": 0, "failed": 0, "costTodayUsd": 0,
            "budgetTodayUsd": None,
        }  # fmt: skip
        await site.store.write(lambda tx: tx.jobs.add(NewJob(JobKind.ADVANCE, 5), site.clock.now()))
        site.bus.publish(Changed("jobs"))
        assert (await socket.until("counts"))["pending"] == 1


async def test_a_busy_moment_is_one_notice(site: Site) -> None:
    async with site.socket() as socket:
        await watching(socket, "jobs", "questions")
        for number in range(15):
            site.bus.publish(Changed("questions", f"w{number}"))
        for number in range(500):
            site.bus.publish(Changed("jobs", f"j{number}"))
        heard = [await socket.until("changed"), await socket.until("changed")]
        assert sorted((each["topic"], len(each.get("ids", ()))) for each in heard) == [("jobs", 0), ("questions", 15)]
        await socket.send(type="ping")
        assert (await socket.receive())["type"] == "pong"


# -- rights ------------------------------------------------------------------------------------------------


async def test_who_may_only_chat_cannot_watch(site: Site) -> None:
    async with site.socket(apiKey=CHAT_KEY) as socket:
        await socket.send(type="watch", topics=["jobs"])
        assert (await socket.receive())["error"]["code"] == "role"
        site.bus.publish(Changed("jobs", "j1"))
        await socket.send(type="ping")
        assert (await socket.receive())["type"] == "pong"
        await socket.send(type="unwatch")
        assert (await socket.receive()) == {"type": "watching", "topics": []}


@pytest.mark.parametrize(
    "topics", [[], ["moods"], ["jobs", "conversation"], "jobs", None, [1], ["conversation:" + "x" * 200], ["jobs"] * 51]
)
async def test_what_is_no_topic_is_refused_and_changes_nothing(site: Site, topics: Any) -> None:
    async with site.socket() as socket:
        await socket.send(type="watch", topics=topics)
        assert (await socket.receive())["type"] == "error"
        await socket.send(type="unwatch")
        assert (await socket.receive())["topics"] == []


async def test_a_watcher_whose_key_is_revoked_elsewhere_ends_at_once(site: Site) -> None:
    """The process that revoked it only reports that keys have changed."""
    made = (await site.call("POST", "/api/keys", json={"name": "tv", "role": "viewer"})).json()
    async with site.socket(apiKey=made["key"]) as socket:
        await watching(socket, "jobs")
        await site.store.write(lambda tx: tx.api_keys.remove(made["id"]))
        site.bus.publish(Changed("keys"))
        async with asyncio.timeout(5):
            assert await socket.close_code() == 4001


# -- cost --------------------------------------------------------------------------------------------------


async def test_nothing_runs_while_nobody_watches(site: Site) -> None:
    quick = Subscriptions(
        insights=site.insights, store=site.store, clock=site.clock, zone="UTC",
        pace=Intervals(notices=0.01, counts=0.01),
    )  # fmt: skip
    client = _client(Identity(Role.VIEWER, "ann", "Ann"))
    with quick.listening(site.bus):
        assert quick.idle
        await quick.watch(client, ["overview", "jobs"])
        site.bus.publish(Changed("jobs", "j1"))
        assert not quick.idle
        quick.unwatch(client)
        assert quick.idle
        site.bus.publish(Changed("jobs", "j1"))
        assert quick.idle


async def test_who_is_slow_is_bounded_and_hears_in_the_end(site: Site) -> None:
    quick = Subscriptions(
        insights=site.insights, store=site.store, clock=site.clock, zone="UTC",
        pace=Intervals(notices=0.001),
    )  # fmt: skip
    slow = _client(Identity(Role.VIEWER, "ann", "Ann"))
    with quick.listening(site.bus):
        await quick.watch(slow, ["jobs", "questions"])
        for number in range(200):
            site.bus.publish(Changed("jobs", f"j{number}"))
            site.bus.publish(Changed("questions", f"w{number % 3}"))
            await asyncio.sleep(0.0015)
        assert await _drained(slow) <= 2
        await eventually(lambda: slow.behind)
        late = sorted([await _next(slow) for _ in range(2)])
        assert late[0] == '{"type":"changed","topic":"jobs"}'
        assert late[1] == '{"type":"changed","topic":"questions","ids":["w0","w1","w2"]}'


# -- every route that writes -------------------------------------------------------------------------------


async def test_whatever_any_route_changes_reaches_a_watcher(site: Site) -> None:
    asking = {"/api/workflows/validate"}  # a check, which changes nothing
    every = [each for each in site.parts.endpoints if each.path.startswith("/api/") and each.path not in asking]
    writing = [each for each in every if each.method != "GET"]
    assert len(writing) > 40
    async with site.socket() as socket:
        await watching(socket, *ChangeTopic)
        for endpoint in writing:
            names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
            change = change_by(endpoint.method, endpoint.path, dict.fromkeys(names, "x1"))
            assert change is not None, endpoint.path
            assert change.topic == topic_of(endpoint.path)
            assert (change.id is None) == (not names)
            site.bus.publish(change)
        missing = {str(topic_of(each.path)) for each in writing}
        while missing:
            missing.discard((await socket.until("changed"))["topic"])


async def test_a_socket_that_leaves_is_forgotten(site: Site) -> None:
    async with site.socket(apiKey=DAEMON_KEY) as socket:
        await watching(socket, "jobs")
        parts = site.parts.watching
        assert not parts.idle
    await eventually(lambda: parts.idle)


def _converse(tx: Transaction, now: int) -> tuple[str, str]:
    tx.agents.add(Agent(id="a1", slug="helper", name="Helper"), now)
    here = tx.conversations.open("a1", PLACE, now)
    there = tx.conversations.open("a1", replace(PLACE, channel="43"), now)
    return here.id, there.id


def _client(identity: Identity) -> Client:
    sender: Any = None
    return Client(id="c", identity=identity, sender=sender, address=Address("web", "web", "web-ann"))


async def _given(identity: Identity | None) -> Identity | None:
    return identity


async def _next(client: Client) -> str:
    async with asyncio.timeout(5):
        item: Any = await client.next()
    return str(item.text)


async def _drained(client: Client) -> int:
    """Return the number of waiting frames."""
    count = 0
    while client.behind:
        await _next(client)
        count += 1
    return count
