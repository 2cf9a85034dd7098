"""A full disk, and a database that another program locks: new messages are refused with a reason, running turns wait,
and nothing runs twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from arvis.domain.errors import DiskLow
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import MessageStatus
from arvis.store.open import Database
from arvis.store.sqlite.store import SqliteStore
from arvis.web.http.models import schema_of
from arvis.web.system_routes import ReadyView
from tests.flows.app_harness import AppHarness, open_app, steps_of, upload
from tests.flows.scripted import Held
from tests.flows.test_stop import begin_held
from tests.flows.web_server import Site, check_shape, running_site

ANSWERED = MessageStatus.ANSWERED
#: More than the free pages of the file can hold.
LONG = "x" * 100_000


@asynccontextmanager
async def full_disk(app: AppHarness) -> AsyncIterator[None]:
    """Let the file take no further page until the end of the block."""
    store = app.store._store
    assert isinstance(store, SqliteStore)
    await store.write(lambda tx: None)
    store._writer._connection.execute("PRAGMA max_page_count = 1").fetchall()
    yield
    store._writer._connection.execute("PRAGMA max_page_count = 1000000").fetchall()


@contextmanager
def locked(database: Database) -> Iterator[None]:
    """Let another program hold a write lock until the end of the block."""
    other = sqlite3.connect(database.file, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()


# -- little room -------------------------------------------------------------------------------------------


async def test_new_work_is_refused_while_what_runs_is_finished(app: AppHarness) -> None:
    running, held = await begin_held(app)
    app.full = True
    with pytest.raises(DiskLow):
        await app.say("and this?", uploads=(upload("a.txt", b"bytes"),))
    held.go.set()
    assert (await app.until_status(running, ANSWERED)).reply == held.text
    assert len(await app.jobs("message")) == 1
    app.full = False
    assert (await app.ask("and this?")).reply == "Re: and this?"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_a_client_of_the_api_is_told_to_come_again(site: Site) -> None:
    site.inbox.full = True
    answer = await site.call("POST", "/api/messages", json={"content": "hello", "id": "mine"})
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "disk_low", "10")
    site.inbox.full = False
    assert (await site.call("POST", "/api/messages", json={"content": "hello", "id": "mine"})).status == 202


async def test_a_socket_is_told_and_stays_open(site: Site) -> None:
    async with site.socket(channelId="room") as socket:
        site.inbox.full = True
        await socket.send(type="message", content="hello", id="mine")
        error = await socket.until("error")
        assert (error["error"]["code"], error["id"]) == ("disk_low", "mine")
        site.inbox.full = False
        await socket.send(type="message", content="hello", id="mine")
        assert (await socket.until("ack"))["id"] == "mine"


async def test_a_daemon_without_room_is_not_ready(site: Site) -> None:
    site.inbox.full = True
    answer = await site.call("GET", "/ready", key=None)
    assert (answer.status, answer.json()["ready"], answer.json()["disk"]) == (503, False, False)
    check_shape(answer.json(), schema_of(ReadyView), "/ready")


# -- no room at all ----------------------------------------------------------------------------------------


async def test_an_answer_that_cannot_be_stored_waits_and_is_not_asked_for_again(app: AppHarness) -> None:
    app.provider.script.append(held := Held(LONG))
    running = (await app.say("Hello")).message_id
    await held.until_begun()
    async with full_disk(app):
        app.store.changed.clear()
        held.go.set()
        await app.store.changed.wait()  # a commit that failed
        assert (await app.timeline(running)).status is MessageStatus.RUNNING
    timeline = await app.until_status(running, ANSWERED)
    assert timeline.reply == LONG
    assert len(app.provider.asked) == 1
    assert "retried" not in steps_of(timeline)


# -- locked ------------------------------------------------------------------------------------------------


async def test_a_lock_longer_than_the_leases_makes_nothing_fail_and_nothing_run_twice(database: Database) -> None:
    async with open_app(database, lease_seconds=0.3) as app:
        running, held = await begin_held(app, user="ann")
        with locked(database):
            waiting = asyncio.create_task(app.say("me next", user="bob"))
            held.go.set()
            await asyncio.sleep(1.0)  # three leases
            assert not waiting.done()
            assert app.connector.texts == []
        for message in (running, (await waiting).message_id):
            timeline = await app.until_status(message, ANSWERED)
            assert timeline.job is not None
            assert (timeline.job.status, timeline.job.attempts, timeline.job.crashes) == (JobStatus.DONE, 0, 0)
        assert len(app.provider.asked) == 2
        assert await app.until_sent(2) == [held.text, "Re: Bob: me next"]


async def test_a_stop_while_locked_ends_and_loses_nothing(database: Database) -> None:
    async with open_app(database) as app:
        running, held = await begin_held(app)
        with locked(database):
            held.go.set()
            async with asyncio.timeout(5):
                await app.queue.stop(0.1)
        await app.restart()
        assert (await app.until_status(running, ANSWERED)).reply
        assert len(app.connector.texts) == 1
