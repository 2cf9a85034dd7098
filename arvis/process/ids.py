"""Makes the ids that `domain/ids.py` defines, from the clock and random bits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from arvis.domain.ids import RANDOM_BITS, encode, moment_of
from arvis.ports.clock import Clock

# Random bits of the system are fetched in large blocks: a small request would cost more than the rest of an id.


#: Bytes per request.
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
