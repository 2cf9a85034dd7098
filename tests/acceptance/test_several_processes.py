"""Several processes on one PostgreSQL: clients of one process notice nothing of the others, not even their death."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from arvis.testing.openai_server import Hang, OpenAIServer, Reply, openai_server
from tests.acceptance.daemon import Daemon
from tests.acceptance.place import PATIENCE, Place

#: Another process takes over a role within this many seconds of its holder's death.
TAKEN_WITHIN = 5.0


@dataclass
class Cluster:
    """Processes of one database, each with a data folder of its own."""

    folder: Path
    database: str
    model: OpenAIServer
    http: aiohttp.ClientSession
    stack: AsyncExitStack
    daemons: list[Daemon] = field(default_factory=list)

    async def start(self, roles: str) -> Place:
        folder = self.folder / f"process-{len(self.daemons)}"
        folder.mkdir()
        settings = {
            "ARVIS__DATABASE": self.database,
            "ARVIS__ROLES": roles,
            "ARVIS__QUEUE__LEASE_SECONDS": "2",
            "ARVIS__ROUTING__FALLBACK": "helper",
            "OPENAI_BASE_URL": self.model.base_url,
        }
        daemon = Daemon(folder, settings=settings)
        self.daemons.append(daemon)
        self.stack.push_async_callback(asyncio.to_thread, daemon.close)
        await asyncio.to_thread(daemon.start)
        return Place(daemon, self.model, self.http)


@pytest.fixture
async def cluster(tmp_path: Path, migrated_url: str) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(openai_server())
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Cluster(tmp_path, migrated_url, model, http, stack)


async def test_people_at_two_servers_share_a_channel(cluster: Cluster) -> None:
    """Typing, pieces, status and answer from a worker reach the sockets of both servers, and both return the
    timeline."""
    one, two, _ = [await cluster.start(roles) for roles in ("web", "web", "workers")]
    cluster.model.script.append(Reply(("Good ", "morning, ", "Ann ☀.")))
    async with one.socket("room") as ann, two.socket("room") as bob:
        message = await ann.say("Hello")
        for socket in (ann, bob):
            answer = await socket.until("message")
            assert (answer["content"], answer["seq"]) == ("Good morning, Ann ☀.", 1)
            assert "".join(f["text"] for f in socket.seen if f["type"] == "delta") == answer["content"]
            assert {"type": "typing", "channelId": "room"} in socket.seen
        assert (await two.wait(message))["reply"] == "Good morning, Ann ☀."
        assert (await one.ask("And again", "room"))["status"] == "answered"
        for socket in (ann, bob):
            assert (await socket.until("message"))["seq"] == 2


async def test_a_stop_at_one_server_ends_the_call_of_a_worker(cluster: Cluster) -> None:
    web, _ = [await cluster.start(roles) for roles in ("web", "workers")]
    cluster.model.script.append(Hang())
    async with web.socket("room") as ann:
        message = await ann.say("Think hard")
        async with asyncio.timeout(PATIENCE):
            await cluster.model.arrived.wait()
        await ann.send(type="stop")
        assert (await ann.until("stopped"))["turns"] == 1
        async with asyncio.timeout(PATIENCE):
            await cluster.model.disconnected.wait()
        assert (await web.wait(message))["status"] == "cancelled"


async def test_a_worker_that_dies_in_the_middle_is_replaced_by_another(cluster: Cluster) -> None:
    web, first = [await cluster.start(roles) for roles in ("web", "workers")]
    cluster.model.script.append(Hang())
    async with web.socket("room") as ann:
        message = await ann.say("Are you there?")
        async with asyncio.timeout(PATIENCE):
            await cluster.model.arrived.wait()
        await asyncio.to_thread(first.daemon.kill)
        await cluster.start("workers")
        assert (await ann.until("message"))["replyTo"] == message
        timeline = await web.wait(message)
        assert timeline["status"] == "answered"
        assert (timeline["job"]["attempts"], timeline["job"]["crashes"]) == (0, 1)


async def test_a_logout_at_one_server_closes_the_sockets_of_another(cluster: Cluster) -> None:
    one, two = [await cluster.start("web") for _ in range(2)]
    _, code = await one.call("POST", "/api/auth/codes")
    async with cluster.http.post(
        f"{one.daemon.url}/api/auth/login", json={"code": code["code"]}, headers=ours(one)
    ) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
    jar = aiohttp.DummyCookieJar()
    async with (
        aiohttp.ClientSession(headers={"Cookie": cookie}, cookie_jar=jar) as browser,
        browser.ws_connect(f"{two.daemon.url}/ws", headers=ours(two)) as socket,
    ):
        await socket.send_json({"type": "auth"})
        assert (await socket.receive_json(timeout=PATIENCE))["type"] == "auth_ok"
        async with browser.post(f"{one.daemon.url}/api/auth/logout", headers=ours(one)) as answer:
            assert answer.status == 200
        while not socket.closed:
            await socket.receive(timeout=PATIENCE)
        assert socket.close_code == 4001


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGSTOP])
async def test_the_scheduler_of_a_dead_or_frozen_process_is_taken_over(cluster: Cluster, death: signal.Signals) -> None:
    holder = await cluster.start("scheduler")
    async with watching(cluster.database) as held_by:
        await until(held_by, "nobody took the role")
        before = held_by()
        await cluster.start("scheduler")
        begin = time.monotonic()
        os.kill(holder.daemon.pid, death)
        await until(lambda: held_by() != before, "nobody took the role over")
        assert time.monotonic() - begin < TAKEN_WITHIN
        if death is signal.SIGSTOP:
            taken = held_by()
            os.kill(holder.daemon.pid, signal.SIGCONT)
            await until(lambda: "role_lost" in holder.daemon.log(), "the sleeper did not notice")
            assert held_by() == taken


def ours(place: Place) -> dict[str, str]:
    """Return the headers that a page of this server sends."""
    return {"Origin": place.daemon.url, "X-Arvis": "1"}


@asynccontextmanager
async def watching(database: str) -> AsyncIterator[Callable[[], str | None]]:
    """Yield a function that returns the holder of the scheduler's role, or None."""
    with psycopg.connect(database, autocommit=True) as connection:

        def held_by() -> str | None:
            row = connection.execute("SELECT owner FROM role_leases WHERE name = 'scheduler'").fetchone()
            return row[0] if row else None

        yield held_by


async def until(true: Callable[[], object], otherwise: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            while not true():  # noqa: ASYNC110 - rows and logs of other processes have no event
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(otherwise)


async def test_every_process_removes_its_folders_and_profiles_of_an_erased_person(cluster: Cluster) -> None:
    one, two = [await cluster.start("web,workers,scheduler") for _ in range(2)]
    assert (await one.ask("My secret is heron", "room"))["status"] == "answered"
    [talk, *_] = await _items(one, "/api/conversations")
    [agent, *_] = await _items(one, "/api/agents")
    [person, *_] = await _items(one, "/api/people")

    def furnish() -> list[Path]:
        made = []
        for place in (one, two):
            for folder in (f"sessions/{talk['id']}/workspace", f"browser/{agent['id']}/Default"):
                (path := place.daemon.data / folder).mkdir(parents=True, exist_ok=True)
                (path / "kept").write_text("heron")
                made.append(path.parent)
        # Folders of others stay.
        (one.daemon.data / "sessions/other/workspace").mkdir(parents=True, exist_ok=True)
        (two.daemon.data / "sessions/other/workspace").mkdir(parents=True, exist_ok=True)
        return made

    made = furnish()
    (logs := two.daemon.data / "logs").mkdir(exist_ok=True)
    (log := logs / "arvis-2026-01-01.log").write_text('{"event": "said", "content": "heron"}\n')
    status, begun = await one.call("POST", "/api/erasures", json={"people": [person["id"]]})
    assert status == 202, begun
    await until(lambda: not any(map(Path.exists, made)), "folders are left")
    await until(lambda: "heron" not in log.read_text(), "a text is left in a log")

    # A process that did not run during an erasure removes its folders when it starts.
    assert (await one.ask("My secret is heron", "room"))["status"] == "answered"
    [talk, *_] = await _items(one, "/api/conversations")
    [person, *_] = await _items(one, "/api/people")
    await asyncio.to_thread(two.daemon.stop)
    made = furnish()
    status, begun = await one.call("POST", "/api/erasures", json={"people": [person["id"]]})
    assert status == 202, begun
    await until(lambda: not any(map(Path.exists, made[:2])), "folders are left")
    assert all(folder.exists() for folder in made[2:])
    await asyncio.to_thread(two.daemon.start)
    await until(lambda: not any(map(Path.exists, made)), "folders are left")
    for place in (one, two):
        assert (place.daemon.data / "sessions/other/workspace").exists()


async def _items(place: Place, path: str) -> list[dict[str, Any]]:
    _, page = await place.call("GET", path)
    return list(page["items"])
