"""The number of messages answered in the last hour or day, their latency, and the depth of the queue.

The data of finished minutes is read once and kept in memory. The depth of the queue is sampled once a minute, and at
each request of the overview.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import StrEnum

from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError
from arvis.domain.money import day_of
from arvis.ports.clock import Clock
from arvis.ports.insights import Answers, Insights
from arvis.ports.store import Store, Transaction
from arvis.web.event_counts import EventCounts

_MINUTE_MS = 60_000
_DAY = 1440
#: The number of minutes after which the samples are stored again.
_EVERY = 5
_KEY = "queue_depths"


class QueueDepths:
    """The samples of the queue's depth, one for each minute. A later sample of the same minute replaces the earlier
    one."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._depths: dict[int, int] = {}
        self._loaded = False
        self._written = 0

    def sample(self, depth: int) -> None:
        """Record the current depth of the queue."""
        minute = self._now()
        self._depths[minute] = depth
        for old in [known for known in self._depths if known <= minute - _DAY]:
            del self._depths[old]

    def deepest(self, first: int, length: int) -> int | None:
        """Return the largest depth in the `length` minutes that begin with minute `first`, or None without samples."""
        return max((self._depths[each] for each in range(first, first + length) if each in self._depths), default=None)

    async def keep(self) -> None:
        """Read the stored samples at the first call. At each later call, write the samples if the last write was at
        least `_EVERY` minutes ago."""
        minute = self._now()
        if not self._loaded:
            kept = await self._store.read(_kept)
            self._depths = {each: depth for each, depth in kept if minute - _DAY < each <= minute} | self._depths
            self._loaded, self._written = True, minute
        elif not 0 <= minute - self._written < _EVERY:
            await self._store.write(_keep, sorted(self._depths.items()), self._clock.now())
            self._written = minute

    def _now(self) -> int:
        return self._clock.now() // _MINUTE_MS


def _kept(tx: Transaction) -> list[tuple[int, int]]:
    text = tx.kv.get(_KEY)
    return [(int(minute), int(depth)) for minute, depth in json.loads(text)] if text else []


def _keep(tx: Transaction, depths: list[tuple[int, int]], now: int) -> None:
    tx.kv.put(_KEY, json.dumps(depths, separators=(",", ":")), now)


#: Minutes per bucket in the view of a day.
_TEN = 10
#: All replies of a minute are visible this number of ms after the end of the minute. A reply becomes visible at its
#: commit, a little later than the time in its id.
_SETTLED_MS = 10_000
_SAMPLE_SECONDS = 60.0


class Span(StrEnum):
    HOUR = "hour"
    DAY = "day"

    @property
    def buckets(self) -> tuple[int, int]:
        """Return the number of buckets, and the minutes of each bucket."""
        return (60, 1) if self is Span.HOUR else (_DAY // _TEN, _TEN)


@dataclass(frozen=True, slots=True)
class Point:
    """A bucket of the series. A field is None if its value is unknown."""

    #: The start of the bucket in ms.
    at: int
    #: The number of answered messages.
    answered: int
    #: The number of failed messages.
    failed: int
    #: Percentiles of the latency in ms.
    p50: int | None
    p95: int | None
    #: The largest sampled depth of the queue.
    depth: int | None


@dataclass(slots=True)
class _Minute:
    """The data of one minute. `latencies` counts the answered messages by their latency in ms."""

    failed: int = 0
    latencies: Counter[int] = field(default_factory=Counter)


class LatencySeries:
    """The series of answered messages, latencies and queue depths. `zone` is the time zone of the current day, because
    the query for the depth of the queue also returns the costs of this day."""

    def __init__(self, *, insights: Insights, store: Store, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._clock = clock
        self._zone = zone
        self._minutes: dict[int, _Minute] = {}
        self._known = range(0)
        self._finished: dict[Span, dict[int, Point]] = {}
        self._depths = QueueDepths(store=store, clock=clock)
        self._reading = asyncio.Lock()
        self._listens = False
        self._warming: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self, _: EventBus) -> Iterator[None]:
        """Sample the depth of the queue every minute while the context is open."""
        sampling = asyncio.create_task(self._keep_sampling())
        self._listens = True
        try:
            yield
        finally:
            self._listens = False
            sampling.cancel()
            if self._warming is not None:
                self._warming.cancel()

    def sample(self, depth: int) -> None:
        """Record the current depth of the queue."""
        self._depths.sample(depth)

    async def points(self, span: Span) -> Sequence[Point]:
        """Return the buckets in order of time. The last bucket is not finished yet."""
        count, length = span.buckets
        last = self._clock.now() // _MINUTE_MS // length
        first = last - count + 1
        async with self._reading:
            minutes = await self._read(first * length)
        if span is Span.HOUR and self._listens and self._warming is None:
            # A person who opens the view of an hour may open the view of a day next, so the data of the day is read in
            # advance.
            self._warming = asyncio.create_task(self._warm())
        known = self._finished.get(span, {})
        points = {
            number: known.get(number) or self._point(minutes, number * length, length)
            for number in range(first, last + 1)
        }
        settled = self._known.stop // length
        self._finished[span] = {number: point for number, point in points.items() if number < settled}
        return list(points.values())

    async def _read(self, first: int) -> dict[int, _Minute]:
        """Return the data of all minutes since minute `first`, by minute. Read only the unknown minutes from the
        database."""
        now = self._clock.now()
        newest, settled = now // _MINUTE_MS, (now - _SETTLED_MS) // _MINUTE_MS
        known = self._known
        if not known or not first <= known.stop <= newest + 1:
            known, self._minutes = range(first, first), {}
        if first < known.start:
            self._minutes |= await self._minutes_of(first, known.start)
        fresh = await self._minutes_of(known.stop, newest + 1)
        self._minutes |= {minute: found for minute, found in fresh.items() if minute < settled}
        oldest = max(min(first, known.start), newest - _DAY)
        self._known = range(oldest, max(settled, known.stop))
        for minute in [each for each in self._minutes if each < oldest]:
            del self._minutes[minute]
        return self._minutes | fresh

    async def _minutes_of(self, first: int, end: int) -> dict[int, _Minute]:
        """Read the data of the minutes from `first` to the last minute before `end`. Data that is too old for the view
        of an hour is read in blocks of ten minutes, and each block is stored under its first minute."""
        newest = self._clock.now() // _MINUTE_MS
        old = range(-(-first // _TEN) * _TEN, (newest - Span.HOUR.buckets[0]) // _TEN * _TEN)
        if not old or old.stop > end:
            return await self._found(first, end, 1)
        begin, middle = await self._found(first, old.start, 1), await self._found(old.start, old.stop, _TEN)
        return begin | middle | await self._found(old.stop, end, 1)

    async def _found(self, first: int, end: int, minutes: int) -> dict[int, _Minute]:
        if first >= end:
            return {}
        found = await self._insights.answers(first * _MINUTE_MS, end * _MINUTE_MS, minutes=minutes)
        return _by_minute([each for each in found if first <= each.minute < end])

    def _point(self, minutes: dict[int, _Minute], first: int, length: int) -> Point:
        within = [minutes[each] for each in range(first, first + length) if each in minutes]
        latencies = Counter[int]()
        for each in within:
            latencies.update(each.latencies)
        return Point(
            at=first * _MINUTE_MS,
            answered=latencies.total(),
            failed=sum(each.failed for each in within),
            p50=percentile(latencies, 0.5),
            p95=percentile(latencies, 0.95),
            depth=self._depths.deepest(first, length),
        )

    async def _warm(self) -> None:
        with contextlib.suppress(ArvisError):
            await self.points(Span.DAY)

    async def _keep_sampling(self) -> None:
        while True:
            # An error of the database leaves a gap in the samples.
            with contextlib.suppress(ArvisError):
                found = await self._insights.headline(day_of(self._clock.now(), self._zone))
                self.sample(found.pending)
            with contextlib.suppress(ArvisError):
                await self._depths.keep()
            await asyncio.sleep(_SAMPLE_SECONDS)


def percentile(counted: Counter[int], share: float) -> int | None:
    """Return the smallest value for which at least `share` of all values are equal or smaller. Return None if there are
    no values."""
    wanted, seen = counted.total() * share, 0
    for value, number in sorted(counted.items()):
        seen += number
        if seen >= wanted:
            return value
    return None


def _by_minute(found: Sequence[Answers]) -> dict[int, _Minute]:
    minutes: dict[int, _Minute] = {}
    for each in found:
        minute = minutes.setdefault(each.minute, _Minute())
        if each.failed:
            minute.failed += each.number
        else:
            minute.latencies[each.latency_ms] += each.number
    return minutes


@dataclass(frozen=True, slots=True)
class Observers:
    """The parts that listen to the bus from the start of the daemon on, before the first request."""

    latency: LatencySeries
    counts: EventCounts
