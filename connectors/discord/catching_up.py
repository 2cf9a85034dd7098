"""Reads what was written while nobody listened, before anything newer is handed in.

A channel's position says that everything up to it is committed. So after each gap a channel's live events wait until its
history has been read from there; the same message, brought twice, is told apart by the inbox. A channel without a position
has had nothing for this bot up to the newest position of all: it is read from shortly before that, for the process may
have died while it caught up, with the newest position moved by other channels.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from arvis.domain.messages import FeedPosition
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox
from connectors.discord.failures import REQUEST_ERRORS, send_error
from connectors.discord.rest import Rest
from connectors.discord.snowflakes import EPOCH, first_at

_log = logging.getLogger(__name__)

Event = Mapping[str, Any]


class HandIn(Protocol):
    def __call__(self, name: str, data: Event, *, live: bool = False, moves: bool = True) -> Awaitable[None]:
        """`live`: it happens just now; `moves`: everything before it in its channel was handed in."""
        ...


#: What is older (ms) is not fetched any more.
_OLDEST = 7 * 24 * 3_600_000
#: How long (ms) the other channels may have been read before one without a position was.
_OVERLAP = 10 * 60_000
#: Live messages of one channel that wait in memory; further ones are read from its history.
_MOST_KEPT_BACK = 500
_AT_ONCE = 4
_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0


class CatchingUp:
    """One bot's channels after a gap. `hand_in` brings an event to the inbox, however long that takes; `longest_hold` is how
    many seconds a channel's live events wait for its history."""

    def __init__(
        self,
        *,
        bot: str,
        inbox: Inbox,
        rest: Rest,
        clock: Clock,
        hand_in: HandIn,
        tasks: asyncio.TaskGroup,
        longest_hold: float,
    ) -> None:
        self._bot = bot
        self._inbox = inbox
        self._rest = rest
        self._clock = clock
        self._hand_in = hand_in
        self._tasks = tasks
        self._longest_hold = longest_hold
        self._behind: dict[str, int] = {}
        #: From this id on channels without a position are read; 0: not at all.
        self._start = 0
        self._checked: set[str] = set()
        self._kept_back: dict[str, deque[tuple[str, Event]]] = {}
        self._again: set[str] = set()
        #: Channels whose live events go before their history.
        self._let_go: set[str] = set()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    async def sweep(self) -> None:
        """Read channels that are behind although nothing happens in them, a few at a time, until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(_AT_ONCE):
                workers.create_task(self._work())

    async def gap(self) -> None:
        """From now on any channel may lack something. Raises `Unavailable`."""
        self._behind = await self._inbox.feeds("discord", self._bot)
        newest = max(self._behind.values(), default=0)
        self._start = max(1, newest - first_at(EPOCH + _OVERLAP)) if newest else 0
        self._checked.clear()
        self._again.update(self._kept_back)
        while not self._waiting.empty():
            self._waiting.get_nowait()
        for feed in sorted(self._behind, key=lambda feed: -self._behind[feed]):
            self._waiting.put_nowait(feed)

    def noticed(self, feed: str, newest: int) -> None:
        """Discord says which is the newest message of a channel."""
        if feed in self._checked or not self._start:
            return
        if newest > self._behind.get(feed, self._start):
            self._waiting.put_nowait(feed)
        elif feed in self._behind:
            self._checked.add(feed)

    async def live(self, feed: str, name: str, data: Event) -> None:
        """Something happened in a channel just now: hand it in, unless something before it is still to be read."""
        kept_back = self._kept_back.get(feed)
        if kept_back is None and (feed in self._checked or not self._start):
            await self._hand_in(name, data, live=True)
        elif kept_back is None:
            self._tasks.create_task(self._begin(feed, (name, data)))
        elif feed in self._let_go and not kept_back:
            await self._hand_in(name, data, live=True, moves=False)
        elif name == "MESSAGE_CREATE" and (len(kept_back) >= _MOST_KEPT_BACK or feed in self._again):
            # Once one is left to the history, all behind it are, until it was read: else its position were passed.
            self._again.add(feed)
        else:
            kept_back.append((name, data))

    async def _work(self) -> None:
        while True:
            feed = await self._waiting.get()
            if feed not in self._checked and feed not in self._kept_back:
                await self._begin(feed)

    def _begin(self, feed: str, *events: tuple[str, Event]) -> Coroutine[None, None, None]:
        """From now on the channel's events wait for what is returned."""
        self._checked.add(feed)
        self._kept_back[feed] = deque(events)
        return self._catch_up(feed)

    async def _catch_up(self, feed: str) -> None:
        after = max(await self._position(feed), first_at(self._clock.now() - _OLDEST))
        kept_back = self._kept_back[feed]
        while True:
            self._again.discard(feed)
            after = await self._read_in_time(feed, after)
            while kept_back and feed not in self._again:
                await self._hand_in(*kept_back.popleft(), live=True)
            if feed not in self._again:
                del self._kept_back[feed]
                self._let_go.discard(feed)
                return

    async def _read_in_time(self, feed: str, after: int) -> int:
        """Read the history behind an id. What happens meanwhile waits, but not for ever: then it goes first, without moving
        the position, so that after a crash the gap is read again. The last id that was read."""
        letting_go = self._tasks.create_task(self._let_live_events_go(feed))
        try:
            return await self._read(feed, after)
        finally:
            if feed not in self._let_go:
                letting_go.cancel()
            await asyncio.gather(letting_go, return_exceptions=True)

    async def _let_live_events_go(self, feed: str) -> None:
        if feed not in self._let_go:
            await self._clock.sleep(self._longest_hold)
            _log.warning("discord bot %s: the history of %s cannot be read; live messages go first", self._bot, feed)
            self._let_go.add(feed)
        kept_back = self._kept_back[feed]
        while kept_back:
            await self._hand_in(*kept_back[0], live=True, moves=False)
            kept_back.popleft()

    async def _read(self, feed: str, after: int) -> int:
        """Hand in the history behind an id; the last id of it."""
        async for page in self._pages(feed, after):
            for message in page:
                await self._hand_in("MESSAGE_CREATE", message)
            after = int(page[-1]["id"])
            await self._hand_in("PASSED", {"position": FeedPosition(feed, after)})
        return after

    async def _position(self, feed: str) -> int:
        known = self._behind.get(feed)
        if known is None:
            known = await self._inbox.position("discord", self._bot, feed)
        return self._start if known is None else known

    async def _pages(self, feed: str, after: int) -> AsyncIterator[Sequence[Event]]:
        """The channel's history behind an id, however often Discord fails; nothing where the bot may not read."""
        pause = _PAUSE_SECONDS
        while True:
            page = None
            while page is None:
                try:
                    page = await self._rest.history(feed, after)
                except REQUEST_ERRORS as error:
                    refused = send_error(error)
                    if refused.permanent:
                        return
                    await self._clock.sleep(refused.retry_after or pause)
                    pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            if page.messages:
                yield page.messages
                after = int(page.messages[-1]["id"])
            if not (page.more and page.messages):
                return
