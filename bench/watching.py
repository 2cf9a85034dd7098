"""The benchmark row about the dashboard: the response time of its page Now with a long history, and the effect of an
open page on the chats."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import aiohttp
from websockets.asyncio.client import connect

from arvis.domain.ids import RANDOM_BITS, encode, moment_of
from arvis.process.clock import SystemClock
from arvis.store.open import Database, bring_up_to_date
from arvis.store.sqlite.checkpoint import kept_log, sums_file
from bench.people import Endpoint, Server, chat
from bench.report import Figure, Target
from bench.rounds import Setting, in_turn
from bench.servers import daemon

#: The number of stored jobs: of every twenty, fifteen are done, four wait until tomorrow and one has failed.
JOBS = 100_000
DAY_MS = 86_400_000
CHATS = 16

_JOB = """
INSERT INTO jobs (
    id, kind, status, pool, priority, rank, lane, position, ready, run_at, key_live, attempts, crashes, claim, tokens,
    payload, error, message_id, created_at, started_at, finished_at
) VALUES (?, ?, ?, 'interactive', 5, ?, ?, 1, ?, ?, 0, 0, 0, 1, 0, '{}', ?, ?, ?, ?, ?)
"""
_LANES = "INSERT INTO lanes (lane, tail, live) SELECT lane, 1, 1 FROM jobs WHERE ready > 0"
_MESSAGE = """
INSERT INTO messages (
    id, role, content, tokens, status, platform, connector, channel, thread, user_name, position, reply_to, answered_by,
    superseded, created_at
) VALUES (?, ?, 'Hello', 1, ?, 'web', 'web', 'bench', '', '', 0, ?, ?, 0, ?)
"""


async def dashboard(setting: Setting) -> list[Figure]:
    """Measure `/api/overview` with many jobs (control: an empty database), and the chats while a page listens and
    reloads (control: the same daemon without that page)."""
    full = setting.folder / "full"
    jobs = JOBS if setting.scale.work >= 300 else 2_000
    _fill(full / "data", jobs)
    with daemon(full) as server, daemon(setting.folder / "empty") as empty:
        return [*await _answers(setting, jobs, server.endpoints[0], empty.endpoints[0]), *await _chats(setting, server)]


async def _answers(setting: Setting, jobs: int, full: Endpoint, empty: Endpoint) -> list[Figure]:
    async with _asking(full) as there, _asking(empty) as here:
        cold = [await there.overview("hour"), await there.overview("day")]
        against = "the same of a daemon with an empty database"
        figures = [
            Figure(f"page Now with {jobs:,} jobs, first time", cold[0], "ms", target=Target(300, 100, lower=True)),
            Figure("… of the day, first time", cold[1], "ms", target=Target(2_000, 500, lower=True)),
        ]
        for span in ("hour", "day"):
            control, measure = partial(here.overview, span), partial(there.overview, span)
            paired = await in_turn(setting.scale.rounds * 3, control, measure)
            name = f"page Now with {jobs:,} jobs" if span == "hour" else "… of the day"
            target = Target(100, 50, lower=True)
            figures.append(Figure(name, paired.value, "ms", paired.control, against, paired.ratio, target))
        return figures


async def _chats(setting: Setting, server: Server) -> list[Figure]:
    async def alone() -> float:
        return (await chat(server, people=CHATS, messages=setting.scale.messages)).p50_ms

    async def watched() -> float:
        async with _page(server.endpoints[0]):
            return await alone()

    paired = await in_turn(setting.scale.rounds, alone, watched)
    against = "the same without a page"
    target = Target(1.5, 1.1, of_ratio=True, lower=True)
    name = f"{CHATS} chats while a page is watched, p50"
    return [Figure(name, paired.value, "ms", paired.control, against, paired.ratio, target)]


class _Asking:
    def __init__(self, session: aiohttp.ClientSession, endpoint: Endpoint) -> None:
        self._session = session
        self._door = endpoint

    async def overview(self, span: str) -> float:
        """Return the milliseconds until the whole response has arrived."""
        begun = time.perf_counter()
        headers = {"Authorization": f"Bearer {self._door.api_key}"}
        async with self._session.get(f"{self._door.url}/api/overview?span={span}", headers=headers) as response:
            body = await response.json()
            if response.status != 200 or not body["series"]["points"]:
                raise RuntimeError(f"the server said {body}")
        return (time.perf_counter() - begun) * 1000


@asynccontextmanager
async def _asking(endpoint: Endpoint) -> AsyncIterator[_Asking]:
    async with aiohttp.ClientSession() as session:
        yield _Asking(session, endpoint)


@asynccontextmanager
async def _page(endpoint: Endpoint) -> AsyncIterator[None]:
    """Simulate an open page Now: it watches all its topics, and reloads whenever the overview changes."""
    async with (
        connect(endpoint.url.replace("http", "ws", 1) + "/ws", compression=None) as socket,
        _asking(endpoint) as asking,
    ):
        await socket.send(json.dumps({"type": "auth", "channelId": "web-page", "apiKey": endpoint.api_key}))
        await socket.send(json.dumps({"type": "watch", "topics": ["overview", "jobs", "messages", "questions"]}))

        async def look() -> None:
            async for text in socket:
                if json.loads(text).get("topic") == "overview":
                    await asking.overview("hour")

        looking = asyncio.create_task(look())
        try:
            yield
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking


def _fill(data: Path, count: int) -> None:
    """Fill the database with plain statements, because the store's scripts would take minutes for the same rows."""
    data.mkdir(parents=True)
    database = Database(data / "arvis.db", None, data, 1)
    now = SystemClock().now()
    bring_up_to_date(database, now)
    with closing(sqlite3.connect(database.file)) as connection, connection:
        connection.executemany(_JOB, _jobs(count, now))
        connection.execute(_LANES)
        connection.executemany(_MESSAGE, _messages(count // 4, now))
    # Without these files the next start computes the checksums of the pages again.
    sums_file(database.file).unlink(missing_ok=True)
    kept_log(database.file).unlink(missing_ok=True)


def _id(at: int, number: int) -> str:
    return encode(moment_of(at) + (number & (1 << RANDOM_BITS) - 1))


def _jobs(count: int, now: int) -> Iterator[tuple[object, ...]]:
    for number in range(count):
        at = now - DAY_MS + number * (DAY_MS - 60_000) // count
        id_, kind = _id(at, number), "message" if number % 2 else "advance"
        state: tuple[str, int, int, str | None, int | None]
        match number % 20:
            case 0:
                state = ("failed", 0, at, "no model answered", at + 9)
            case 1 | 2 | 3 | 4:
                state = ("pending", 2, now + DAY_MS, None, None)
            case _:
                state = ("done", 0, at, None, at + 9)
        status, ready, run_at, error, ended = state
        yield (
            id_,
            kind,
            status,
            at,
            f"job:{id_}",
            ready,
            run_at,
            error,
            None,
            at,
            None if ended is None else at,
            ended,
        )


def _messages(count: int, now: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows of messages and their answers, spread over the last day."""
    for number in range(count):
        at = now - DAY_MS + number * (DAY_MS - 60_000) // count
        took = 200 + number * 7919 % 9_000
        question_id, reply = _id(at, 2 * number), _id(at + took, 2 * number + 1)
        yield (question_id, "user", "failed" if number % 50 == 0 else "answered", None, reply, at)
        yield (reply, "assistant", "answered", question_id, None, at + took)
