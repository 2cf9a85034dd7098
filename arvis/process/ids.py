"""Ids that sort by the time they were made: ULIDs, 26 characters of Crockford's base 32.

They are unique and readable; order that matters comes from counter rows, never from ids (architecture §4).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from arvis.ports.clock import Clock

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: Two letters at a time: a message makes ten ids.
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_LENGTH = 26
_RANDOM_BITS = 80
_TIME_MASK = (1 << 48) - 1


class IdMaker:
    """Makes ids that grow strictly within this process, even in one millisecond or when the clock goes back.

    `random_bits(n)` gives a number below 2**n (`secrets.randbits`). Any thread may call.
    """

    def __init__(self, *, clock: Clock, random_bits: Callable[[int], int]) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self._lock = threading.Lock()
        self._last = -1

    def __call__(self) -> str:
        with self._lock:
            fresh = (self._clock.now() & _TIME_MASK) << _RANDOM_BITS | self._random_bits(_RANDOM_BITS)
            # The next number is still unique and later; where the random part overflows, it carries into the time.
            same_or_older = fresh >> _RANDOM_BITS <= self._last >> _RANDOM_BITS
            self._last = self._last + 1 if same_or_older else fresh
            return _encode(self._last)


def _encode(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range((_LENGTH - 2) * 5, -1, -10)])
