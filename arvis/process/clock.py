"""The system clock as a `Clock`, and the ids that `domain/ids.py` defines, from the clock and random bits."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable

from arvis.domain.ids import RANDOM_BITS, encode, moment_of
from arvis.ports.clock import Clock

#: Bytes per request of random bits: a small request would cost more than the rest of an id.
_AT_ONCE = 4_096


class RandomBits:
    """As good as `secrets.randbits`: no bit is used twice. `source` returns a number of random bytes. Thread-safe."""

    def __init__(self, *, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._bytes = b""
        self._used = 0

    def __call__(self, bits: int) -> int:
        """A number below 2**`bits`."""
        count = (bits + 7) // 8
        with self._lock:
            if self._used + count > len(self._bytes):
                self._bytes, self._used = self._source(max(count, _AT_ONCE)), 0
            taken = self._bytes[self._used : self._used + count]
            self._used += count
        return int.from_bytes(taken) >> (8 * count - bits)


class IdMaker:
    """Makes ids that grow strictly within this process, even in one millisecond or when the clock goes back.

    `random_bits(n)` gives a number below 2**n (`RandomBits`). Any thread may call.
    """

    def __init__(self, *, clock: Clock, random_bits: Callable[[int], int]) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self._lock = threading.Lock()
        self._last = -1

    def __call__(self) -> str:
        with self._lock:
            moment = moment_of(self._clock.now())
            if moment >> RANDOM_BITS > self._last >> RANDOM_BITS:
                self._last = moment | self._random_bits(RANDOM_BITS)
            else:
                # The next number is still unique and later; where the random part overflows, it carries into the time.
                self._last += 1
            return encode(self._last)


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
