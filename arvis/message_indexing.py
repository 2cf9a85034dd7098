"""Adds messages to the search index in the background, so that storing a message does not take longer.

A search reads the messages that are not yet in the index directly, so it always finds the newest messages. The first
start with a large database indexes its messages in the same way, oldest first. After a crash the work continues at the
stored position. The same role removes the words of deleted texts from the index, about once a day.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import structlog

from arvis.bus import EventBus, Signal
from arvis.domain.errors import StoreError
from arvis.domain.events import DeliveryAdded, GraphCompleted, MessageReceived
from arvis.domain.search import message_words
from arvis.ports.clock import Clock
from arvis.ports.repositories import Key
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

log = structlog.get_logger(__name__)

#: The interval (seconds) of the checks for new messages. It is long enough that one batch often adds several messages.
LOOK_SECONDS = 10.0
#: If only this process uses the database, the next check follows an event about a message. Without an event, it follows
#: after this many seconds.
IDLE_SECONDS = 3_600.0
#: The events of messages, replies and posts.
_NEWS = (MessageReceived, GraphCompleted, DeliveryAdded)
#: The shortest pause between two batches. A batch that took longer than the pause is followed by a pause of its length,
#: so that the index takes at most half of the writer's time.
REST_SECONDS = 0.05
#: After this many seconds, the words of deleted messages are again removed from the search index.
PURGE_SECONDS = 86_400.0


class MessageIndexer:
    """The task that keeps the search index of messages up to date. One process runs this task for all processes."""

    def __init__(self, *, store: Store, bus: EventBus, clock: Clock, rest: float = REST_SECONDS) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._rest = rest
        self._purge_at = 0.0

    async def run(self, holding: Holding) -> None:
        """Index new messages until cancelled."""
        with self._bus.signal(*_NEWS) as news:
            await self._follow(holding, news)

    async def _follow(self, holding: Holding, news: Signal) -> None:
        # Only processes that share a database can commit a message after messages with higher ids.
        since, checked = "" if self._store.shared else None, False
        while True:
            try:
                checked = checked or await self._store.write(start_again, holding)
                await self.catch_up(holding, since)
                since = None
                await self.purge(holding)
            except StoreError as error:
                log.warning("indexing_failed", error=error.what, why=error.why)
                news.set()
            await self._clock.sleep(LOOK_SECONDS)
            if not self._store.shared:
                await news.wait(IDLE_SECONDS)

    async def catch_up(self, holding: Holding, since: str | None = None) -> None:
        """Add all messages that are not in the index, in batches. If `since` is given, check all messages with higher
        ids."""
        while True:
            texts = await self._store.read(unindexed, since)
            if not texts:
                return
            words = await asyncio.to_thread(split, texts)
            keys = await self._store.read(new_keys, words)
            begun = time.perf_counter()
            last = await self._store.write(advance, holding, words, keys, since)
            since = since if since is None else last or since
            await self._clock.sleep(max(self._rest, time.perf_counter() - begun) if self._rest else 0)

    async def purge(self, holding: Holding) -> None:
        """Remove the words of deleted texts from the files of the index, unless this was done a short time ago."""
        if self._clock.monotonic() >= self._purge_at:
            await self.purge_now(holding)

    async def purge_now(self, holding: Holding) -> None:
        """Remove the words of deleted texts from the files of the index and from the vocabulary."""
        erasures = await self._store.read(unpurged)
        if erasures is None:
            return
        begin = True
        while await self._store.write(purge, holding, begin=begin):
            begin = False
            await self._clock.sleep(self._rest)
        word: str | None = ""
        while word is not None:
            word = await self._store.write(drop_words, holding, word)
            await self._clock.sleep(self._rest)
        await self._store.write(purged, holding, erasures)
        self._purge_at = self._clock.monotonic() + PURGE_SECONDS


def split(texts: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {text: message_words(text) for text in texts}


def start_again(tx: Transaction, holding: Holding) -> bool:
    """Clear the index if it cannot be continued. Return True."""
    holding.check(tx)
    if tx.message_index.is_outdated():
        tx.message_index.clear()
    return True


def unindexed(tx: Transaction, since: str | None = None) -> Sequence[str]:
    return tx.message_index.unindexed(since)


def new_keys(tx: Transaction, words: Mapping[str, Sequence[str]]) -> Sequence[Key]:
    return tx.message_index.new_keys({word for of_text in words.values() for word in of_text})


def advance(
    tx: Transaction, holding: Holding, words: Mapping[str, Sequence[str]], keys: Sequence[Key], since: str | None
) -> str | None:
    """Add one batch of messages to the index. Return the id of the last added message."""
    holding.check(tx)
    return tx.message_index.advance(words, since, keys=keys)


def unpurged(tx: Transaction) -> int | None:
    return tx.message_index.erasures()


def purge(tx: Transaction, holding: Holding, *, begin: bool) -> bool:
    """Remove the words of deleted texts from one part of the index. Return True if other parts may still contain such
    words."""
    holding.check(tx)
    return tx.message_index.purge(begin=begin)


def drop_words(tx: Transaction, holding: Holding, after: str) -> str | None:
    """Remove words that no message contains any more from the vocabulary, beginning after this word. Return the last
    checked word."""
    holding.check(tx)
    return tx.message_index.drop_words(after)


def purged(tx: Transaction, holding: Holding, erasures: int) -> None:
    """Record that the words of the texts deleted so far (`erasures`, a count) were removed from the index."""
    holding.check(tx)
    tx.message_index.purged(erasures)
