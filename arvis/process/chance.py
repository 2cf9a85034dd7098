"""Random bits of the system, many at a time: to ask it for a few costs more than all the rest of an id."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

#: Bytes that are asked for at once.
_AT_ONCE = 4_096


class RandomBits:
    """As good as `secrets.randbits`: no bit is given out twice. `source` gives so many random bytes. Any thread may call."""

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
