"""Reads messages that were written while the bot was offline.

Slack repeats an unacknowledged event three times, within a few minutes. After a longer gap, the connector reads the
messages from the history of the channels that the bot knows. Each thread has a separate history, which the connector
reads if the thread has newer replies and began at most `_THREADS` before the gap. It passes every message to the inbox
as if the message had just arrived; the inbox ignores messages that it already has.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from arvis.domain.errors import Unavailable
from arvis.domain.messages import FeedPosition
from arvis.domain.text import storable_json
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox
from connectors import answers
from connectors.slack.api import ApiFailed
from connectors.slack.handling import Handler, Progress
from connectors.slack.history import History, messages_of
from connectors.slack.incoming import Event, microseconds

log = logging.getLogger(__name__)

_SECOND = 1_000_000
#: The assumed maximum time (µs) by which events of one channel arrive out of order.
_OVERLAP = 60 * _SECOND
#: The maximum age (µs), at the beginning of the gap, of a thread whose replies are read.
_THREADS = 3 * 24 * 3600 * _SECOND
_STORE_PAUSE, _FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 5.0, 60.0
#: The maximum seconds that an event waits until older messages have been read. Slack expects the acknowledgement of an
#: event within three seconds.
_PATIENCE_SECONDS = 1.5
#: The maximum number of pages of older messages that are searched for threads with new replies.
_THREAD_PAGES = 5


class CatchingUp:
    def __init__(
        self, *, name: str, inbox: Inbox, handler: Handler, history: History, clock: Clock, progress: Progress
    ) -> None:
        self._name = name
        self._inbox = inbox
        self._handler = handler
        self._history = history
        self._clock = clock
        self._progress = progress
        self._reported = False
        self._known = asyncio.Event()
        self._unread: dict[str, asyncio.Event] = {}

    async def run(self) -> None:
        """Read every channel from its position, beginning with the channel that has the newest position. Until all
        channels have been read, new events do not change the stored positions."""
        self._progress.complete = False
        self._known.clear()
        try:
            feeds = await self._feeds()
            self._unread = {channel: asyncio.Event() for channel in feeds}
            self._known.set()
            for channel, position in sorted(feeds.items(), key=lambda feed: -feed[1]):
                await self._persist(channel, position)
                self._unread[channel].set()
            self._progress.complete = True
        finally:  # events must not wait for channels that cannot be read
            self._known.set()
            for reading in self._unread.values():
                reading.set()

    async def until_read(self, channel: str) -> None:
        """Wait until the missed messages of this channel have been read."""
        await self._known.wait()
        if (reading := self._unread.get(channel)) is not None:
            await reading.wait()

    async def _feeds(self) -> dict[str, int]:
        pause = _STORE_PAUSE
        while True:
            try:
                return await self._inbox.feeds("slack", self._name)
            except Unavailable:
                await self._clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _persist(self, channel: str, position: int) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._read(channel, position)
                return
            except Unavailable:
                await self._clock.sleep(pause)
            except ApiFailed as error:
                if error.token_refused:
                    raise
                if not error.is_transient:
                    self._tell(error)  # the bot cannot read this channel, but it can read others
                    return
                await self._clock.sleep(pause if error.retry_after is None else error.retry_after)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _tell(self, error: ApiFailed) -> None:
        if error.code == "missing_scope" and not self._reported:
            self._reported = True
            log.warning(
                "Slack bot %s cannot read the messages that it missed while it was offline: %s", self._name, error
            )

    async def _read(self, channel: str, position: int) -> None:
        since = position - _OVERLAP
        events = {str(event["ts"]): event for event in await self._messages(channel, since)}
        for _, event in sorted(events.items(), key=lambda each: microseconds(each[0])):
            await self._take({"type": "message", **event, "channel": channel})
        if events:
            newest = max(position, *map(microseconds, events))
            await self._inbox.passed("slack", self._name, FeedPosition(channel, newest))

    async def _take(self, event: Event) -> None:
        try:
            await self._handler.take_event(storable_json(event))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # Reading the message again would fail in the same way; the following messages are not affected.
            log.warning("Slack bot %s: a message in %s cannot be read: %r", self._name, event["channel"], error)

    async def _messages(self, channel: str, since: int) -> list[Event]:
        found: list[Event] = []
        known = 0
        async for page in self._history.pages(channel, "", since - _THREADS):
            roots = messages_of(page)
            for root in roots:
                if _stamp(answers.text(root, "latest_reply")) >= since:
                    found += await self._replies(channel, str(root["ts"]), since)
                if microseconds(str(root["ts"])) >= since or _stamp(answers.text(root, "edited", "ts")) >= since:
                    found.append(root)
            known += all(microseconds(str(root["ts"])) < since for root in roots)
            if known > _THREAD_PAGES:
                break
        return found

    async def _replies(self, channel: str, thread: str, since: int) -> list[Event]:
        return [
            reply
            async for page in self._history.pages(channel, thread, since)
            for reply in messages_of(page)
            if str(reply["ts"]) != thread
        ]


def _stamp(ts: str) -> int:
    try:
        return microseconds(ts) if ts else 0
    except ValueError:
        return 0


class Reading:
    """A task that runs the catch-up while new events arrive. `begin` starts it again after a new gap."""

    def __init__(self, catching_up: CatchingUp) -> None:
        self._catching_up = catching_up
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        # The connector's next call gets the same refusal of the token, and reports it.
        with contextlib.suppress(ApiFailed):
            await self._catching_up.run()

    async def wait(self, channel: str) -> None:
        """Wait until older messages of this channel have been read, so that the inbox receives them first. Wait at most
        `_PATIENCE_SECONDS`, so that the event is acknowledged in time."""
        if self._task is None or self._task.done():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._catching_up.until_read(channel)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
