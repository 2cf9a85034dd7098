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
from tests.crash.platform_history import Said
from tests.crash.platform_scenes import CORNERS, Corner, Scene

#: Probability that a person writes several messages in a row.
BURST = 0.2
#: Share of the messages that a platform brings more than once, up to five times, within some seconds.
REPEATED = 0.2
MOST_TIMES = 5
REPEATED_WITHIN = 3.0
#: Seconds between two troubles on average, and range of `retry_after` in refusals.
TROUBLED_EVERY = 1.5
REST = (1.0, 2.5)
TROUBLES = ("refused", "failed", "before", "after")
#: Seconds between two cuts of all connections on average.
CUT_EVERY = 12.0


class People:
    """All people of an episode. Each writes `rate` messages per second; `said` records them."""

    def __init__(self, *, scenes: Sequence[Scene], rng: Random, rate: float) -> None:
        self._scenes = scenes
        self._rng = rng
        self._rate = rate
        self._repeating: set[asyncio.Task[None]] = set()
        self.said: list[Said] = []

    async def greet(self) -> None:
        """Write one message as each person. A bot learns of a new place only while it listens."""
        for scene in self._scenes:
            for corner in CORNERS:
                await self._write(scene, corner)

    async def write(self, over: asyncio.Event) -> None:
        """Write until `over` is set, then wait for the repeated messages."""
        async with asyncio.TaskGroup() as tasks:
            for scene in self._scenes:
                for corner in CORNERS:
                    tasks.create_task(self._write_in(scene, corner, over))
        await asyncio.gather(*self._repeating)

    async def _write_in(self, scene: Scene, corner: Corner, over: asyncio.Event) -> None:
        while not await _passes(over, self._rng.expovariate(self._rate)):
            for _ in range(self._rng.randint(2, 4) if self._rng.random() < BURST else 1):
                await self._write(scene, corner)

    async def _write(self, scene: Scene, corner: Corner) -> None:
        token, at = token_of(len(self.said) + 1), time.monotonic()
        number = len(self.said)
        self.said.append(Said(token, scene.platform, "", at))
        times = self._rng.randint(2, MOST_TIMES) if self._rng.random() < REPEATED else 1
        place, ref = await scene.write(f"Please answer {token}.", corner, self._rng.choice(corner.users))
        self.said[number] = Said(token, scene.platform, place, at, times)
        for _ in range(times - 1):
            again = asyncio.create_task(self._repeat(scene, ref, self._rng.uniform(0, REPEATED_WITHIN)))
            self._repeating.add(again)
            again.add_done_callback(self._repeating.discard)

    async def _repeat(self, scene: Scene, ref: str, after: float) -> None:
        await asyncio.sleep(after)
        await scene.stage.redeliver(ref)


async def trouble(scenes: Sequence[Scene], rng: Random, over: asyncio.Event) -> None:
    """Make the platforms fail from time to time, until `over` is set."""
    while not await _passes(over, rng.expovariate(1 / TROUBLED_EVERY)):
        rng.choice(scenes).trouble(rng.choice(TROUBLES), float(round(rng.uniform(*REST))))
    for scene in scenes:
        scene.peace()


async def cut(scenes: Sequence[Scene], rng: Random, over: asyncio.Event) -> None:
    """Break the network from time to time, until `over` is set."""
    while not await _passes(over, rng.expovariate(1 / CUT_EVERY)):
        await rng.choice(scenes).cut()


async def until(true: Callable[[], bool], seconds: float, every: float = 0.1) -> bool:
    """Poll the condition until it is true or the time is over, and return whether it is true."""
    end = time.monotonic() + seconds
    while not (so := true()) and time.monotonic() < end:  # noqa: ASYNC110  (a database has no event to wait for)
        await asyncio.sleep(every)
    return so


async def _passes(event: asyncio.Event, seconds: float) -> bool:
    """Return whether the event is set before the time is over."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
