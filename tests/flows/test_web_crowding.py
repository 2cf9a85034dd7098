"""Connections without a request, and the limit of open files: others are heard, and the log stays small."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from tests.flows.web_server import Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


@contextlib.contextmanager
def files_at_most(more: int) -> Iterator[None]:
    """No more than so many files besides those that are open now."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = max(int(name.name) for name in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def half_sent(site: Site) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    await writer.drain()
    return writer


async def test_half_sent_requests_do_not_keep_others_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arvis.web.uvicorn_server._MOST_HALF_SENT", 40)
    writers = [await half_sent(site) for _ in range(120)]
    begun = time.monotonic()
    assert (await site.call("GET", "/health", key=None)).status == 200
    assert time.monotonic() - begun < 1.0
    assert len(site.server._uvicorn.server_state.connections) <= 42
    for writer in writers:
        writer.close()


async def test_at_the_limit_of_files_the_log_says_so_once(site: Site) -> None:
    with structlog.testing.capture_logs() as lines, files_at_most(60):
        writers: list[asyncio.StreamWriter] = []
        with contextlib.suppress(OSError):
            while True:
                writers.append(await half_sent(site))
        await asyncio.sleep(1.5)  # asyncio tries again every second
        for writer in writers:
            writer.close()
    told = [line for line in lines if line["event"] == "no_more_connections"]
    assert len(told) <= 1
    assert (await site.call("GET", "/health", key=None)).status == 200
