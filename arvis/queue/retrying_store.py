"""The store for running work: it waits while the disk is full or the database is away, instead of failing. Repeating
the work later would call the model again and might send notices twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from arvis.domain.errors import DatabaseAway, DiskFull
from arvis.ports.clock import Clock
from arvis.ports.job_store import Claimer
from arvis.ports.store import Store, Transaction

P = ParamSpec("P")
R = TypeVar("R")

#: Between two tries, in seconds.
PAUSE_SECONDS = 1.0

#: Temporary errors. Other kinds of `Unavailable` are answers of a script, which would be the same at the next try.
_PASSING = (DatabaseAway, DiskFull)


class RetryingStore:
    """A `Store` whose calls are tried until they succeed, fail for good, or are cancelled."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @property
    def shared(self) -> bool:
        return self._store.shared

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._until_done(lambda: self._store.write(script, *args, **kwargs))

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._until_done(lambda: self._store.read(script, *args, **kwargs))

    def attend(self, claimer: Claimer | None) -> None:
        self._store.attend(claimer)

    async def wait_for_change(self, timeout: float) -> bool:
        return await self._store.wait_for_change(timeout)

    async def put_blob(self, data: bytes) -> str:
        return await self._until_done(lambda: self._store.put_blob(data))

    async def get_blob(self, sha256: str) -> bytes | None:
        return await self._until_done(lambda: self._store.get_blob(sha256))

    async def _until_done(self, call: Callable[[], Awaitable[R]]) -> R:
        return await until_done(self._clock, call)


async def until_done(clock: Clock, call: Callable[[], Awaitable[R]]) -> R:
    """Repeat the call while the database is away or its disk is full; the check that refuses new work reports the
    outage."""
    while True:
        try:
            return await call()
        except _PASSING:
            await clock.sleep(PAUSE_SECONDS)
