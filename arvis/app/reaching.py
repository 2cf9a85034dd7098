"""The start of a daemon whose database is unavailable: it waits, reports it, and continues when the database answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

import structlog

from arvis.config import Config
from arvis.domain.errors import DatabaseAway
from arvis.web.http.unavailable import answering_while_waiting

T = TypeVar("T")

log = structlog.get_logger(__name__)

#: Seconds between two tries, and between two lines of the log.
_PAUSE = 1.0
_REPEAT = 60.0


class Stopped(Exception):
    """The daemon was stopped before it had started."""


class Reaching:
    """Repeats a step of the start until the database can be reached. `stopping` ends the wait with `Stopped`."""

    def __init__(self, *, config: Config, say: Callable[[str], None], stopping: asyncio.Event) -> None:
        self._config = config
        self._say = say
        self._stopping = stopping

    async def until_done(self, step: Callable[[], Awaitable[T]]) -> T:
        try:
            return await step()
        except DatabaseAway as away:
            return await self._wait(step, away)

    async def _wait(self, step: Callable[[], Awaitable[T]], away: DatabaseAway) -> T:
        loop = asyncio.get_running_loop()
        since, next_line = loop.time(), 0.0
        async with AsyncExitStack() as stack:
            if "web" in self._config.roles:
                web = self._config.web
                await stack.enter_async_context(answering_while_waiting(web.host, web.port))
            first, *_ = away.why.splitlines() or [""]  # the driver adds advice on lines of its own
            self._say(f"Arvis waits for its database: {away.what} ({first})")
            while True:
                if loop.time() >= next_line:
                    next_line = loop.time() + _REPEAT
                    log.warning("database_awaited", why=away.why, fix=away.fix, seconds=round(loop.time() - since))
                await self._pause()
                try:
                    done = await step()
                except DatabaseAway as still:
                    away = still
                else:
                    log.info("database_reached", seconds=round(loop.time() - since, 1))
                    return done

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(_PAUSE):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise Stopped
