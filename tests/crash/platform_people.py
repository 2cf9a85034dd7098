"""The people of the campaign with platforms, who write numbered messages, and the failures of the networks.

They record and do not judge.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

from tests.crash.history import token_of
from tests.crash.platform_history import Written
from tests.crash.platform_servers import ROOMS, PlatformServer, Room

#: Probability that a person writes several messages in a row.
BURST = 0.2
#: Share of the messages that a platform brings more than once, up to five times, within some seconds.
REPEATED = 0.2
MOST_TIMES = 5
REPEATED_WITHIN = 3.0
#: Seconds between two failures on average, and range of `retry_after` in refusals.
FAILURE_EVERY = 1.5
RETRY_AFTER = (1.0, 2.5)
FAILURES = ("refused", "failed", "before", "after")
#: Seconds between two cuts of all connections on average.
CUT_EVERY = 12.0


class People:
    """All people of an episode. Each writes `rate` messages per second; `written` records them."""

    def __init__(self, *, servers: Sequence[PlatformServer], rng: Random, rate: float) -> None:
        self._servers = servers
        self._rng = rng
        self._rate = rate
        self._repeating: set[asyncio.Task[None]] = set()
        self.written: list[Written] = []

    async def write_first(self) -> None:
        """Write one message as each person. A bot learns of a new place only while it listens."""
        for server in self._servers:
            for room in ROOMS:
                await self._write(server, room)

    async def write(self, over: asyncio.Event) -> None:
        """Write until `over` is set, then wait for the repeated messages."""
        async with asyncio.TaskGroup() as tasks:
            for server in self._servers:
                for room in ROOMS:
                    tasks.create_task(self._write_in(server, room, over))
        await asyncio.gather(*self._repeating)

    async def _write_in(self, server: PlatformServer, room: Room, over: asyncio.Event) -> None:
        while not await _is_set_within(over, self._rng.expovariate(self._rate)):
            for _ in range(self._rng.randint(2, 4) if self._rng.random() < BURST else 1):
                await self._write(server, room)

    async def _write(self, server: PlatformServer, room: Room) -> None:
        token, at = token_of(len(self.written) + 1), time.monotonic()
        number = len(self.written)
        self.written.append(Written(token, server.platform, "", at))
        times = self._rng.randint(2, MOST_TIMES) if self._rng.random() < REPEATED else 1
        place, ref = await server.write(f"Please answer {token}.", room, self._rng.choice(room.users))
        self.written[number] = Written(token, server.platform, place, at, times)
        for _ in range(times - 1):
            again = asyncio.create_task(self._repeat(server, ref, self._rng.uniform(0, REPEATED_WITHIN)))
            self._repeating.add(again)
            again.add_done_callback(self._repeating.discard)

    async def _repeat(self, server: PlatformServer, ref: str, after: float) -> None:
        await asyncio.sleep(after)
        await server.stage.redeliver(ref)


async def fail_sends(servers: Sequence[PlatformServer], rng: Random, over: asyncio.Event) -> None:
    """Make the platforms fail from time to time, until `over` is set."""
    while not await _is_set_within(over, rng.expovariate(1 / FAILURE_EVERY)):
        rng.choice(servers).fail_next_send(rng.choice(FAILURES), float(round(rng.uniform(*RETRY_AFTER))))
    for server in servers:
        server.cancel_failure()


async def cut_connections(servers: Sequence[PlatformServer], rng: Random, over: asyncio.Event) -> None:
    """Break the network from time to time, until `over` is set."""
    while not await _is_set_within(over, rng.expovariate(1 / CUT_EVERY)):
        await rng.choice(servers).cut_connections()


async def until(true: Callable[[], bool], seconds: float, every: float = 0.1) -> bool:
    """Poll the condition until it is true or the time is over, and return whether it is true."""
    end = time.monotonic() + seconds
    while not (so := true()) and time.monotonic() < end:  # noqa: ASYNC110  (a database has no event to wait for)
        await asyncio.sleep(every)
    return so


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Return whether the event is set before the time is over."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
