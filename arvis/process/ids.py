"""The maker of ids: what `domain/ids.py` says an id is, made from the clock and chance."""

from __future__ import annotations

import threading
from collections.abc import Callable

from arvis.domain.ids import RANDOM_BITS, encode, moment_of
from arvis.ports.clock import Clock


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
