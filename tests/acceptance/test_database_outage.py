"""The PostgreSQL server dies under a daemon, or does not run yet when the daemon starts: people wait, their jobs count
no attempts, and clients over HTTP or a socket are told to try again."""

from __future__ import annotations

import asyncio
import socket as sockets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed

from arvis.testing.openai_server import OpenAIServer, Reply, openai_server
from arvis.web.realtime.connector import TRY_LATER
from tests.acceptance.daemon import Daemon, environment
from tests.acceptance.place import Place, Socket
from tests.parts import require
from tests.unsteady_postgres import UnsteadyPostgres, unsteady_postgres

#: Seconds after the server's return until all messages are answered.
BACK_WITHIN = 30.0


@pytest.fixture
def unsteady() -> Iterator[UnsteadyPostgres]:
    with unsteady_postgres(require("initdb"), durable=True) as server:
        yield server


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server() as server:
        yield server


def settings(unsteady: UnsteadyPostgres, model: OpenAIServer) -> dict[str, str]:
    return {
        "ARVIS__DATABASE": unsteady.server.url("postgres"),
        "ARVIS__QUEUE__LEASE_SECONDS": "2",
        "ARVIS__ROUTING__FALLBACK": "helper",
        "OPENAI_BASE_URL": model.base_url,
    }


@pytest.fixture
async def place(unsteady: UnsteadyPostgres, model: OpenAIServer, tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        daemon = Daemon(tmp_path, settings=settings(unsteady, model))
        stack.push_async_callback(asyncio.to_thread, daemon.close)
        await asyncio.to_thread(daemon.start)
        yield Place(daemon, model, http)


async def charged(unsteady: UnsteadyPostgres) -> tuple[int, int]:
    """Return the sums of attempts and crashes of all jobs."""
    async with await psycopg.AsyncConnection.connect(unsteady.server.url("postgres")) as connection:
        found = await connection.execute("SELECT sum(attempts), sum(crashes) FROM jobs")
        row = await found.fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


async def answered(place: Place, message: str) -> str:
    """Ask the daemon for the reply until it has one, and return the reply."""
    while True:
        status, timeline = await place.call("GET", f"/api/messages/{message}/wait", params={"timeout": "5"})
        assert status in {200, 503}, timeline
        if status == 200 and timeline["status"] in {"answered", "failed", "cancelled"}:
            assert timeline["status"] == "answered", timeline
            return str(timeline["reply"])
        await asyncio.sleep(0.2)


async def test_turns_under_way_are_answered_after_the_servers_return(place: Place, unsteady: UnsteadyPostgres) -> None:
    replies = [Reply(("Slow",), delay=3.0), Reply(("Slow",), delay=1.0), Reply(("Late",), delay=6.0)]
    place.model.script.extend(replies)
    sent = [await place.post(f"Question {number}", f"room-{number}") for number in range(3)]
    sent += [await place.post("A follower", "room-0")]
    async with asyncio.timeout(BACK_WITHIN):
        await place.model.arrived.wait()
    await asyncio.to_thread(unsteady.kill)
    await asyncio.sleep(5)
    await asyncio.to_thread(unsteady.start)
    async with asyncio.timeout(BACK_WITHIN):
        found = [await answered(place, message) for message in sent]
    assert sorted(found)[-3:] == ["Late", "Slow", "Slow"]
    assert len(place.model.requests) == 4
    assert await charged(unsteady) == (0, 0)


async def refused(socket: Socket) -> str | int | None:
    """Send a message that is refused, and return the code of the error, or of the close if the socket had to query the
    database."""
    try:
        await socket.send(type="message", content="Hello", id="one")
        return str((await socket.until("error", id="one"))["error"]["code"])
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd is not None else None


async def test_who_asks_during_an_outage_is_told_to_come_again(place: Place, unsteady: UnsteadyPostgres) -> None:
    headers = {"Authorization": f"Bearer {place.daemon.api_key}"}
    paths = ("/api/jobs", "/api/agents", "/api/overview", "/api/conversations", "/api/settings", "/api/schedules")

    async def statuses() -> set[tuple[int, bool, str]]:
        found = set()
        for path in paths:
            async with place.http.get(place.daemon.url + path, headers=headers) as response:
                text = await response.text()
                found.add(
                    (response.status, "Retry-After" in response.headers, "arvis-pg" if "arvis-pg" in text else "")
                )
        return found

    assert await statuses() == {(200, False, "")}
    async with place.socket("room") as socket:
        await asyncio.to_thread(unsteady.kill)
        assert await statuses() == {(503, True, "")}
        status, body = await place.call("POST", "/api/messages", json={"content": "Hello", "channelId": "room"})
        assert (status, body["error"]["code"]) == (503, "unavailable")
        assert await refused(socket) in {"unavailable", TRY_LATER}
    assert (await place.call("GET", "/health"))[0] == 200
    assert (await place.call("GET", "/ready"))[0] == 503
    await asyncio.to_thread(unsteady.start)
    async with asyncio.timeout(10):
        while (await place.call("GET", "/ready"))[0] != 200:  # noqa: ASYNC110 the daemon has no event for it
            await asyncio.sleep(0.1)
    assert await statuses() == {(200, False, "")}
    async with place.socket("room") as socket:
        message = await socket.say("Are you back?")
        assert (await socket.until("message"))["replyTo"] == message
    assert "Traceback" not in place.daemon.log()


async def test_a_socket_that_opens_during_an_outage_is_closed_with_try_again_later(
    place: Place, unsteady: UnsteadyPostgres
) -> None:
    await asyncio.to_thread(unsteady.kill)
    async with place.http.ws_connect(place.daemon.url + "/ws") as socket:
        await socket.send_json({"type": "auth", "apiKey": place.daemon.api_key, "channelId": "room"})
        while not socket.closed:
            await socket.receive(timeout=BACK_WITHIN)
        assert socket.close_code == 1013


async def test_a_daemon_that_starts_before_its_server_waits_for_it(
    unsteady: UnsteadyPostgres, model: OpenAIServer, tmp_path: Path
) -> None:
    with sockets.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = environment(**settings(unsteady, model), ARVIS__WEB__PORT=str(port))
    await asyncio.to_thread(unsteady.stop)
    command = [sys.executable, "-m", "arvis", "run", "--data", str(tmp_path / "data")]
    with (tmp_path / "daemon.log").open("wb") as log:
        daemon = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=log, env=environ)
    assert daemon.stdout is not None
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession() as http:
            assert b"Arvis waits for its database: PostgreSQL cannot be reached" in await daemon.stdout.readline()
            url = f"http://127.0.0.1:{port}"
            async with http.get(f"{url}/health") as response:
                assert (response.status, (await response.json())["status"]) == (200, "waiting_for_database")
            async with http.get(f"{url}/ready") as response:
                assert (response.status, response.headers["Retry-After"]) == (503, "5")
            await asyncio.to_thread(unsteady.start)
            assert b"Arvis is ready" in await daemon.stdout.readline()
            async with http.get(f"{url}/health") as response:
                assert (response.status, (await response.json())["status"]) == (200, "ok")
    finally:
        daemon.terminate()
        await daemon.communicate()
    assert daemon.returncode == 0


async def test_a_daemon_that_waits_for_its_server_ends_at_once_when_asked(
    unsteady: UnsteadyPostgres, model: OpenAIServer, tmp_path: Path
) -> None:
    await asyncio.to_thread(unsteady.stop)
    command = [sys.executable, "-m", "arvis", "run", "--data", str(tmp_path / "data")]
    environ = environment(**settings(unsteady, model))
    daemon = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=environ)
    assert daemon.stdout is not None
    async with asyncio.timeout(60):
        await daemon.stdout.readline()
        daemon.terminate()
        await daemon.communicate()
    assert daemon.returncode == 0
