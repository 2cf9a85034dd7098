"""The daemon when its database fails: another program locks it, or its disk returns errors."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.place import PATIENCE, Place, opened
from tests.parts import require

#: Work that waited for a lock is done this many seconds after the lock is released.
RECOVERED_WITHIN = 2.0
STOPPED_WITHIN = 30.0
#: The number of the first sync that fails: the start makes fewer syncs, and as many messages make more.
FAILING_SYNC = 40


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with opened(tmp_path, {}) as place:
        yield place


@contextlib.contextmanager
def lock(place: Place) -> Iterator[sqlite3.Connection]:
    """Hold a write lock as another program; ROLLBACK releases it."""
    with contextlib.closing(sqlite3.connect(place.daemon.data / "arvis.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def ready(place: Place) -> tuple[int, bool]:
    status, body = await place.call("GET", "/ready")
    return status, body["database"]


async def test_a_locked_database_is_waited_for_and_shown(place: Place) -> None:
    with lock(place) as other:
        message = asyncio.create_task(place.post("Hello", "room"))
        assert await ready(place) == (503, False)
        assert not message.done()
        other.execute("ROLLBACK")
        freed = time.monotonic()
        timeline = await place.wait(await message)
        assert timeline["status"] == "answered"
        assert time.monotonic() - freed < RECOVERED_WITHIN
    assert len(place.model.requests) == 1
    async with asyncio.timeout(PATIENCE):
        while await ready(place) != (200, True):  # noqa: ASYNC110 an answer counts for a second
            await asyncio.sleep(0.1)
    assert "Traceback" not in place.daemon.log()


async def test_a_stop_does_not_wait_for_the_lock(place: Place) -> None:
    with lock(place):
        message = asyncio.create_task(place.post("Hello", "room"))
        assert await ready(place) == (503, False)
        began = time.monotonic()
        await asyncio.to_thread(place.daemon.stop)
        assert time.monotonic() - began < STOPPED_WITHIN
        with pytest.raises((aiohttp.ClientError, AssertionError)):
            await message
    assert "Traceback" not in place.daemon.log()


def failing_syncs(start: int) -> list[str]:
    """Return a command prefix that makes the syncs of each thread fail with EIO from this number on."""
    options = ["-f", "-qq", "--seccomp-bpf", "-o", "strace.log", "-e", "trace=fdatasync"]
    return [str(require("strace")), *options, "-e", f"inject=fdatasync:error=EIO:when={start}+"]


async def post_until_it_breaks(place: Place) -> list[str]:
    """Send messages until one fails, and return those that were acknowledged."""
    acknowledged: list[str] = []
    with contextlib.suppress(aiohttp.ClientError):
        while len(acknowledged) < FAILING_SYNC:
            acknowledged.append(await place.post("Hello", "room"))
    return acknowledged


async def test_after_a_sync_that_failed_the_daemon_ends_and_the_next_start_goes_on(tmp_path: Path) -> None:
    """After the failure no message is acknowledged, and the next start answers all that were. The log says what
    happened, why, and how to go on."""
    async with opened(tmp_path, {}, under=failing_syncs(FAILING_SYNC)) as place:
        acknowledged = await post_until_it_breaks(place)
        assert 1 <= len(acknowledged) < FAILING_SYNC
        assert await asyncio.to_thread(place.daemon.end) == 1
        log = place.daemon.log()
        assert "SQLITE_IOERR_FSYNC" in log
        assert '"fix"' in log
        assert "Traceback" not in log
    async with opened(tmp_path, {}) as place:
        for message in acknowledged:
            assert (await place.wait(message))["status"] == "answered"
