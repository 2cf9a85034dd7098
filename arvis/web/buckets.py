"""How often something may come: a bucket of tokens for each name, which fills again with time.

They live in memory on purpose: a restart fills them all.
"""

from __future__ import annotations

import math
from collections import OrderedDict

from arvis.ports.clock import Clock

_MOST_BUCKETS = 1_000


class Buckets:
    """Each holds `burst` tokens and gets `per_second` back."""

    def __init__(self, *, clock: Clock, burst: int, per_second: float) -> None:
        self._clock = clock
        self._burst = burst
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> int:
        """Take a token: 0, or how many whole seconds it is until there is one."""
        now = self._clock.monotonic()
        tokens, then = self._buckets.get(name, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - then) * self._per_second)
        wait = 0 if tokens >= 1 else max(1, math.ceil((1 - tokens) / self._per_second))
        self._buckets[name] = (tokens if wait else tokens - 1, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return wait
