"""Work during an outage of the database: calls that wait for its end, and expired leases that are not judged at once.

Running work waits while the disk is full or the database is away, instead of failing: repeating the work later would
call the model again and might send notices twice. While the database is away no process can renew its leases. So a
process that just found the database again does not take the expired leases of others for crashes; it gives the others
time to renew them first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

import structlog

from arvis.domain.errors import DatabaseAway, DiskFull
from arvis.ports.clock import Clock
from arvis.ports.job_store import Claimer
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)

#: Seconds after an outage, and after the start, in which the leases of other processes are not judged: each process
#: finds the database again within `RETRY_SECONDS` and renews its leases immediately.
GRACE_SECONDS = 5.0
#: Between two tries while the database is away.
RETRY_SECONDS = 1.0
#: Between two lines of the log about the same outage.
_REPEAT_SECONDS = 60.0


class Contact:
    """One outage is one line in the log at its start, one at its end, and one a minute in between."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._judging_from = clock.monotonic() + GRACE_SECONDS
        self._since: float | None = None
        self._said = 0.0

    @property
    def away(self) -> bool:
        return self._since is not None

    def judges_leases(self) -> bool:
        return self._since is None and self._clock.monotonic() >= self._judging_from

    def lost(self, error: DatabaseAway) -> None:
        now = self._clock.monotonic()
        if self._since is None:
            self._since = now
        elif now - self._said < _REPEAT_SECONDS:
            return
        self._said = now
        log.warning("database_away", seconds=round(now - self._since), why=error.why, fix=error.fix)

    def found(self) -> None:
        """A call has succeeded."""
        if self._since is None:
            return
        now = self._clock.monotonic()
        log.info("database_back", seconds=round(now - self._since, 1))
        self._since, self._judging_from = None, now + GRACE_SECONDS


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
        return await until_done(self._clock, lambda: self._store.write(script, *args, **kwargs))

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await until_done(self._clock, lambda: self._store.read(script, *args, **kwargs))

    def attend(self, claimer: Claimer | None) -> None:
        self._store.attend(claimer)

    async def wait_for_change(self, timeout: float) -> bool:
        return await self._store.wait_for_change(timeout)

    async def put_blob(self, data: bytes) -> str:
        return await until_done(self._clock, lambda: self._store.put_blob(data))

    async def get_blob(self, sha256: str) -> bytes | None:
        return await until_done(self._clock, lambda: self._store.get_blob(sha256))


async def until_done(clock: Clock, call: Callable[[], Awaitable[R]]) -> R:
    """Repeat the call while the database is away or its disk is full; the check that refuses new work reports the
    outage."""
    while True:
        try:
            return await call()
        except _PASSING:
            await clock.sleep(PAUSE_SECONDS)
