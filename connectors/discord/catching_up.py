"""Read messages that were written while the bot was offline, and pass them to the inbox before newer events.

The position of a channel is the id of a message: the inbox has stored all messages of the channel up to this message.
After each gap, the channel's live events wait until the history after this position has been read. The inbox ignores a
message that arrives twice.

If a channel has no position, it had no message for this bot before the newest position of all channels. The history of
such a channel is read from `_OVERLAP` before the newest position. The overlap is needed because the process may have
died while it read this channel, after other channels had moved the newest position.
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
from connectors.discord.client import REQUEST_ERRORS, send_error
from connectors.discord.rest import EPOCH, Rest, first_at

_log = logging.getLogger(__name__)

Event = Mapping[str, Any]


class HandIn(Protocol):
    def __call__(self, name: str, data: Event, *, live: bool = False, moves: bool = True) -> Awaitable[None]:
        """Pass an event to the inbox. `live`: True if the event happened just now and does not come from the history.
        `moves`: True if all earlier events of the channel have been passed to the inbox, so that this event may move
        the channel's position."""
        ...


#: The maximum age (ms) of messages that are read from the history.
_OLDEST = 7 * 24 * 3_600_000
#: The history of a channel without a position is read from this time (ms) before the newest position of all channels.
_OVERLAP = 10 * 60_000
#: The maximum number of live messages of one channel that wait in memory. Further messages are read from the history.
_MOST_KEPT_BACK = 500
_AT_ONCE = 4
_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0


class CatchingUp:
    """Reads the missed messages of one bot's channels after a gap. `hand_in` returns when the inbox has stored the
    event. `longest_hold` is the maximum number of seconds for which a channel's live events wait for its history."""

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
        #: The id after which the history of a channel without a position is read. If it is 0, this history is not read.
        self._start = 0
        self._checked: set[str] = set()
        self._kept_back: dict[str, deque[tuple[str, Event]]] = {}
        self._again: set[str] = set()
        #: Channels whose live events no longer wait, because reading the history took longer than `longest_hold`.
        self._let_go: set[str] = set()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    async def sweep(self) -> None:
        """Read the queued channels, `_AT_ONCE` at a time, until cancelled. A channel with a live event does not wait in
        the queue, because `live` begins to read it at once."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(_AT_ONCE):
                workers.create_task(self._work())

    async def gap(self) -> None:
        """Queue all channels that have a position, because the bot may have missed messages in each of them. Raise
        `Unavailable` if the positions cannot be read."""
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
        """Queue the channel if Discord reports that its newest message (`newest`, an id) comes after the channel's
        position."""
        if feed in self._checked or not self._start:
            return
        if newest > self._behind.get(feed, self._start):
            self._waiting.put_nowait(feed)
        elif feed in self._behind:
            self._checked.add(feed)

    async def live(self, feed: str, name: str, data: Event) -> None:
        """Pass an event that happened just now to the inbox, or keep it back until the channel's history is read."""
        kept_back = self._kept_back.get(feed)
        if kept_back is None and (feed in self._checked or not self._start):
            await self._hand_in(name, data, live=True)
        elif kept_back is None:
            self._tasks.create_task(self._begin(feed, (name, data)))
        elif feed in self._let_go and not kept_back:
            await self._hand_in(name, data, live=True, moves=False)
        elif name == "MESSAGE_CREATE" and (len(kept_back) >= _MOST_KEPT_BACK or feed in self._again):
            # If one message is left to be read from the history, all later messages must be read from there, too.
            # Otherwise they would move the position past messages that have not been read.
            self._again.add(feed)
        else:
            kept_back.append((name, data))

    async def _work(self) -> None:
        while True:
            feed = await self._waiting.get()
            if feed not in self._checked and feed not in self._kept_back:
                await self._begin(feed)

    def _begin(self, feed: str, *events: tuple[str, Event]) -> Coroutine[None, None, None]:
        """Begin to hold back the channel's live events. Return the coroutine that reads the channel's history."""
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
        """Read the history after an id, and return the last id that was read. If this takes longer than `longest_hold`,
        pass the waiting live events to the inbox before the history is read. They do not move the position, so after a
        crash the same part of the history is read again."""
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
        """Pass the channel's messages after the id `after` to the inbox. Return the id of the last of these messages;
        `after` if there are none."""
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
        """Yield the channel's history after an id. Retry without limit while Discord fails; end if Discord does not let
        the bot read the channel."""
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
