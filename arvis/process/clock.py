"""The system clock, and a maker of ids in the format of `domain/ids.py`, from the clock and random bits."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable

from arvis.domain.ids import RANDOM_BITS, encode, moment_of
from arvis.ports.clock import Clock

#: The number of random bytes that are requested from the system at once. A request for each id would take longer than
#: all other work for the id.
_AT_ONCE = 4_096


class RandomBits:
    """Random numbers that are as unpredictable as numbers from `secrets.randbits`. Random bytes are requested in
    blocks, and each byte is used once. `source(n)` returns n random bytes. Any thread may call this object."""

    def __init__(self, *, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._bytes = b""
        self._used = 0

    def __call__(self, bits: int) -> int:
        """Return a random number below 2**`bits`."""
        count = (bits + 7) // 8
        with self._lock:
            if self._used + count > len(self._bytes):
                self._bytes, self._used = self._source(max(count, _AT_ONCE)), 0
            taken = self._bytes[self._used : self._used + count]
            self._used += count
        return int.from_bytes(taken) >> (8 * count - bits)


class IdMaker:
    """A maker of ids that increase strictly within this process, even within one millisecond or if the clock is set
    back.

    `random_bits(n)` returns a number below 2**n (`RandomBits`). Any thread may call this object.
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
                # The last id plus 1 is still unique and greater. If the random part of the number overflows, its time
                # part increases by 1 ms.
                self._last += 1
            return encode(self._last)


_NS_PER_MS = 1_000_000
#: A clock that also counts the time during which the machine slept, if the system has one.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """Implements `arvis.ports.clock.Clock`."""

    def now(self) -> int:
        return time.time_ns() // _NS_PER_MS

    def monotonic(self) -> float:
        return time.clock_gettime(_STEADY)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
