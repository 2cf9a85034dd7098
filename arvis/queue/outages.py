"""Handles outages of the database: calls wait for the end of the outage, and leases that expire during it are not taken
over.

While the disk is full or the database cannot be reached, running work waits. Failed work would be repeated: it would
call the model again and might send notices twice. No process can renew its leases during an outage. When a process
reaches the database again, other processes may not have renewed their leases yet. So the process waits for some time
before it treats their expired leases as crashes.
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

#: The time (s) after an outage, and after the start of this process, during which expired leases of other processes are
#: not taken over. It is long enough for every process to reach the database again and renew its leases.
GRACE_SECONDS = 5.0
#: The pause (s) between two attempts of the queue to reach the database during an outage.
RETRY_SECONDS = 1.0
#: The minimum time (s) between two log entries about the same outage.
_REPEAT_SECONDS = 60.0


class Contact:
    """The state of the connection to the database. It logs the start of each outage, one entry per minute during the
    outage, and its end."""

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
        """Record that a call has succeeded, and end the outage if there was one."""
        if self._since is None:
            return
        now = self._clock.monotonic()
        log.info("database_back", seconds=round(now - self._since, 1))
        self._since, self._judging_from = None, now + GRACE_SECONDS


P = ParamSpec("P")
R = TypeVar("R")

#: The pause (s) between two attempts of a call to the store.
PAUSE_SECONDS = 1.0

#: The errors after which a call is repeated. The other kinds of `Unavailable` are raised by scripts; a repeated script
#: would raise them again.
_PASSING = (DatabaseAway, DiskFull)


class RetryingStore:
    """A `Store` that repeats its calls during an outage of the database."""

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

    async def delete_blob(self, sha256: str) -> None:
        await until_done(self._clock, lambda: self._store.delete_blob(sha256))

    async def overwrite_deleted(self) -> bool:
        return await until_done(self._clock, self._store.overwrite_deleted)


async def until_done(clock: Clock, call: Callable[[], Awaitable[R]]) -> R:
    """Repeat the call while the database cannot be reached or its disk is full. Other errors are raised immediately."""
    while True:
        try:
            return await call()
        except _PASSING:
            await clock.sleep(PAUSE_SECONDS)
