"""Health, readiness, metrics, the API's description, the page, and the server's start and stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.protocol import State

from arvis.config.sections import Web
from arvis.domain.errors import ConfigError
from arvis.domain.events import JobSettled
from arvis.domain.messages import MessageStatus
from arvis.web.uvicorn_server import SocketProtocol
from tests.flows.web_server import KEYS, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_health_needs_nothing(site: Site) -> None:
    answer = await site.call("GET", "/health", key="wrong")
    assert (answer.status, answer.json()["status"]) == (200, "ok")
    assert answer.json()["eventLoop"] == {"blocked": 0, "longestMs": 0}
    assert (await site.call("HEAD", "/health", key=None)).text == ""


async def test_ready_when_everything_is_up(site: Site) -> None:
    answer = await site.call("GET", "/ready", key=None)
    assert answer.status == 200
    up = {"database": True, "disk": True, "eventLoop": True}
    assert answer.json() == {"ready": True, "roles": {"web": True}, "bots": {"plain/main": False}, **up}


async def test_not_ready_while_a_role_is_down(site: Site) -> None:
    site.roles["workers"] = False
    answer = await site.call("GET", "/ready", key=None)
    assert (answer.status, answer.json()["ready"]) == (503, False)
    assert answer.json()["roles"] == {"web": True, "workers": False}


async def test_not_ready_while_the_database_does_not_answer(site: Site) -> None:
    """A script blocks the writer, as a full or locked disk would."""
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(_: object) -> None:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

    holding = asyncio.create_task(site.store.write(hold))
    answer = await site.call("GET", "/ready", key=None)
    assert (answer.status, answer.json()["database"]) == (503, False)
    release.set()
    await holding
    site.clock.shift_ms += 1_100
    assert (await site.call("GET", "/ready", key=None)).status == 200


async def test_metrics_are_prometheus_text(site: Site) -> None:
    sent = await site.call("POST", "/api/messages", json={"content": "hi"})
    site.rest(sent.json()["messageId"], MessageStatus.ANSWERED)
    site.bus.publish(JobSettled("job1", "cancelled"))
    async with site.socket():
        answer = await site.call("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    for line in (
        'arvis_jobs{kind="message",status="pending"} 2.0',
        "arvis_oldest_ready_job_seconds 1.5",
        'arvis_messages_received_total{platform="web"} 1.0',
        'arvis_messages_ended_total{platform="web",status="answered"} 1.0',
        "# HELP arvis_jobs_settled_total Jobs that were cancelled",
        'arvis_jobs_settled_total{status="cancelled"} 1.0',
        'arvis_http_requests_total{method="POST",path="/api/messages",status="202"} 1.0',
        "arvis_sockets 1.0",
    ):
        assert line in lines
    assert any(line.startswith("process_resident_memory_bytes") for line in lines)


async def test_the_description_covers_every_route(site: Site) -> None:
    document = (await site.call("GET", "/openapi.json")).json()
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert described == {(endpoint.method, endpoint.path) for endpoint in site.parts.endpoints}
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert any(status.startswith("2") for status in operation["responses"])
    parameters = {parameter.get("name") for operation in operations for parameter in operation["parameters"]}
    assert {"limit", "cursor", "timeout", "job", "message"} <= parameters
    public = {
        path for path, item in document["paths"].items() for operation in item.values() if not operation["security"]
    }
    assert public == {
        "/health",
        "/ready",
        "/oauth/callback",
        "/api/auth/login",
        "/api/auth/state",
        "/hooks/{platform}/{name}",
        "/hooks/{path}",
    }


async def test_what_is_not_there_is_not_found(site: Site) -> None:
    for path in ("/nothing", "/page/index.html", "/server.py", "/__init__.py"):
        answer = await site.call("GET", path, key=None)
        assert (answer.status, answer.code) == (404, "not_found")


async def test_small_answers_leave_at_once(site: Site) -> None:
    """Without this option, each response waits 40 ms for the client's acknowledgement of its headers."""
    async with site.socket():
        connections = site.server._uvicorn.server_state.connections
        options = [
            connection.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for connection in connections
        ]
        assert options
        assert all(options)


async def test_an_idle_server_has_no_timer(site: Site) -> None:
    """uvicorn's own loop would tick ten times a second."""
    await site.call("GET", "/health")
    await site.http.close()
    while site.server._uvicorn.server_state.connections:  # noqa: ASYNC110 - a connection's end has no event
        await asyncio.sleep(0.01)
    scheduled = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    assert not [handle for handle in scheduled if not handle.cancelled() and "uvicorn" in repr(handle)]


async def test_a_port_that_is_taken_is_named(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(ConfigError) as refused:
        async with running_site(other, web=Web(port=site.server.port)):
            pass
    assert str(site.server.port) in refused.value.what
    assert refused.value.fix


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0"])
async def test_the_address_is_one_that_people_can_open(tmp_path: Path, host: str) -> None:
    async with running_site(tmp_path, web=Web(host=host, port=0, api_keys=KEYS)) as site:
        assert (await site.call("GET", "/health", key=None)).status == 200
        assert "0.0.0.0" not in site.url


async def test_stopping_is_quiet_and_gives_the_port_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with running_site(tmp_path) as site:
            port = site.server.port
            connection = site.socket()
            await connection.__aenter__()
        await connection.__aexit__(None, None, None)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    with socket.create_server(("127.0.0.1", port)):
        pass


async def test_a_server_that_was_stopped_starts_again(site: Site) -> None:
    await site.server.stop()
    await site.server.start()
    answer = await site.call("GET", "/health", key=None)
    assert answer.status == 200
    async with site.socket() as socket:
        await socket.send(type="ping")
        assert await socket.receive() == {"type": "pong"}


async def test_a_socket_that_closes_or_was_refused_does_not_disturb_the_stop(tmp_path: Path) -> None:
    async with running_site(tmp_path) as site, site.socket():
        reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
        writer.write(
            b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Authorization: Bearer wrong\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert b"401" in await reader.readline()
        for protocol in list(site.server._uvicorn.server_state.connections):
            if isinstance(protocol, SocketProtocol) and protocol.conn.state is State.OPEN:
                protocol.conn.send_close(1000)  # as if the other side had just begun to close
        await site.server.stop()
        writer.close()
