"""An event loop and a clock that stand still: a test decides when callbacks run and when time passes.

So a whole process with its timers is deterministic, and a failed history can be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

Ts = TypeVarTuple("Ts")

START = 1_800_000_000_000


class HandLoop(asyncio.SelectorEventLoop):
    """An event loop that runs ready callbacks on request. Its timers follow `pass_time`, not the machine's clock."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._stirred = False
        super().__init__()

    def time(self) -> float:
        return self._seconds

    def pass_time(self, seconds: float) -> None:
        self._seconds += seconds

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self._stirred = True
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        # Other threads call this only while the loop does not run.
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._stirred = self._stirred or when <= self._seconds
        return super().call_at(when, callback, *args, context=context)

    def rest(self) -> None:
        """Run until no callback is ready."""
        self._stirred = True
        while self._stirred:
            self._stirred = False
            super().call_soon(self.stop)
            self.run_forever()


class WallClock:
    """The time of day, which all processes share; it may jump."""

    def __init__(self) -> None:
        self.now = START

    def move(self, seconds: float) -> None:
        self.now += int(seconds * 1000)


class ProcessClock:
    """The `Clock` of a process with such a loop."""

    def __init__(self, loop: HandLoop, wall: WallClock) -> None:
        self._loop = loop
        self._wall = wall

    def now(self) -> int:
        return self._wall.now

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
