"""The depth of the queue per minute, for one day. It is stored in the database, so that a restart loses a few minutes
at most."""

from __future__ import annotations

import json

from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

_MINUTE_MS = 60_000
_DAY = 1440
#: Minutes between two writes.
_EVERY = 5
_KEY = "queue_depths"


class QueueDepths:
    """One sample per minute. A later sample of the same minute replaces it."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._depths: dict[int, int] = {}
        self._loaded = False
        self._written = 0

    def sample(self, depth: int) -> None:
        """Record the current depth of the queue."""
        minute = self._now()
        self._depths[minute] = depth
        for old in [known for known in self._depths if known <= minute - _DAY]:
            del self._depths[old]

    def deepest(self, first: int, length: int) -> int | None:
        """Return the deepest sample of `length` minutes from `first` on; None without samples."""
        return max((self._depths[each] for each in range(first, first + length) if each in self._depths), default=None)

    async def keep(self) -> None:
        """Read the samples of earlier processes once, then write every few minutes."""
        minute = self._now()
        if not self._loaded:
            kept = await self._store.read(_kept)
            self._depths = {each: depth for each, depth in kept if minute - _DAY < each <= minute} | self._depths
            self._loaded, self._written = True, minute
        elif not 0 <= minute - self._written < _EVERY:
            await self._store.write(_keep, sorted(self._depths.items()), self._clock.now())
            self._written = minute

    def _now(self) -> int:
        return self._clock.now() // _MINUTE_MS


def _kept(tx: Transaction) -> list[tuple[int, int]]:
    text = tx.kv.get(_KEY)
    return [(int(minute), int(depth)) for minute, depth in json.loads(text)] if text else []


def _keep(tx: Transaction, depths: list[tuple[int, int]], now: int) -> None:
    tx.kv.put(_KEY, json.dumps(depths, separators=(",", ":")), now)
