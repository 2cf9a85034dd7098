"""The system clock as a `Clock`."""

from __future__ import annotations

import asyncio
import time

_NS_PER_MS = 1_000_000
#: Also counts the time that the machine slept, where the system has such a clock.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """Implements `arvis.ports.clock.Clock`."""

    def now(self) -> int:
        return time.time_ns() // _NS_PER_MS

    def monotonic(self) -> float:
        return time.clock_gettime(_STEADY)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
