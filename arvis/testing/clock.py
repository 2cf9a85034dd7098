"""A clock for tests: its time advances only when code sleeps on it, and then immediately."""

from __future__ import annotations

import asyncio


class SteppedClock:
    """A `Clock` whose sleeps end immediately. `slept` lists the length of every sleep in seconds."""

    def __init__(self, *, now: int = 1_800_000_000_000) -> None:
        self._ms = float(now)
        self.slept: list[float] = []

    def now(self) -> int:
        return round(self._ms)

    def monotonic(self) -> float:
        return self._ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._ms += seconds * 1000
        await asyncio.sleep(0)


class StoppedClock(SteppedClock):
    """A clock on which no sleep ever ends. `asleep` is set once code tries to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asleep.set()
        await asyncio.Event().wait()
