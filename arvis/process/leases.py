"""Leases on roles that only one process may have at a time, such as the connection of a bot or the scheduler.

The process that has a role regularly writes a new number, its beat, to the database. Another process takes the role
over if, by its own monotonic clock, the beat has not changed for a certain time; so the clocks of the machines need not
agree. The process that has the role stops its work if it could not write a beat for some time. This time is shorter
than the time that the others wait, so two processes never have the role at the same time. Each commit for the role also
checks that no other process has taken it over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import LeaseLost, StoreError
from arvis.ports.clock import Clock
from arvis.ports.repositories import RoleLease
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations that determine a lease, in seconds. A role is taken over at most `look + silence` after the death
    of its process. A process trusts its lease for `trust` seconds, measured from the moment before it writes a beat.
    Another process waits `silence` seconds, measured from the moment after it saw the last new beat. Because `trust <
    silence`, two processes never have the role at once."""

    beat: float = 0.75
    trust: float = 2.0
    look: float = 0.75
    silence: float = 3.0


class Holding:
    """A role that this process has. The work checks `held` before each call to something outside Arvis, and calls
    `check` in each script."""

    def __init__(self, *, clock: Clock, lease: RoleLease | None, until: float) -> None:
        self._clock = clock
        self.lease = lease
        self.until = until

    @property
    def held(self) -> bool:
        """True while the lease is valid by this process's clock. A process that was suspended detects by this value
        that its lease has ended."""
        return self._clock.monotonic() < self.until

    def check(self, tx: Transaction) -> None:
        """Raise `LeaseLost` if another process has taken over the role."""
        if self.lease is not None and not tx.role_leases.held(self.lease):
            raise LeaseLost("Another process has taken over the role.")


Work = Callable[[Holding], Awaitable[None]]


class RoleLeaseManager:
    """A runner of work that may run only while this process has the role `name`. `owner` is the boot id, `node` the id
    of the data folder. If an earlier boot with this folder still has the role, this process takes the role at once,
    because the lock of the folder proves that the earlier boot has ended. A store that only one process uses needs no
    lease."""

    def __init__(
        self, *, name: str, store: Store, clock: Clock, owner: str, node: str, pace: Pace | None = None
    ) -> None:
        self._name = name
        self._store = store
        self._clock = clock
        self._owner = owner
        self._node = node
        self._pace = pace or Pace()

    async def run(self, work: Work) -> None:
        """Wait for the role and do the work. If the role is lost, cancel the work and wait again; return when the work
        returns. If the work fails, release the role and raise the error."""
        if not self._store.shared:
            await work(Holding(clock=self._clock, lease=None, until=float("inf")))
            return
        while True:
            try:
                lease, holding = await self._acquire()
            except StoreError as error:
                log.warning("role_not_asked_for", role=self._name, why=error.what)
                await self._clock.sleep(self._pace.look)
                continue
            log.info("role_taken", role=self._name)
            if await self._hold(lease, holding, work):
                return
            log.warning(
                "role_lost", role=self._name, why="another process has the lease, or the database could not be reached"
            )

    async def _acquire(self) -> tuple[RoleLease, Holding]:
        """Wait until the role is free, or until its process has written no beat for `silence` seconds; then take it."""
        seen = await self._store.read(_find, self._name)
        since = self._clock.monotonic()
        while True:
            begin = self._clock.monotonic()
            is_free = seen is None or seen.owner is None or seen.node == self._node
            if is_free or begin - since >= self._pace.silence:
                taken = await self._store.write(_take, self._name, self._owner, self._node, seen)
                if taken is not None:
                    return taken, Holding(clock=self._clock, lease=taken, until=begin + self._pace.trust)
            else:
                await self._clock.sleep(min(self._pace.look, since + self._pace.silence - begin))
            found = await self._store.read(_find, self._name)
            if found != seen:
                seen, since = found, self._clock.monotonic()

    async def _hold(self, lease: RoleLease, holding: Holding, work: Work) -> bool:
        """Do the work while this process has the role. Return True if the work ended, False if the role was lost."""
        working = asyncio.ensure_future(work(holding))
        beating = asyncio.create_task(self._beat(lease, holding))
        try:
            await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
            ended = working.done()
        finally:
            await _end(working)  # the work ends first, because the lease must be renewed until then
            await _end(beating)
            await self._give_back(lease, holding)
        if ended:
            working.result()
        return ended

    async def _beat(self, lease: RoleLease, holding: Holding) -> None:
        """Renew the lease regularly. Return when the role is lost, or when the lease could not be renewed in time."""
        while holding.held:
            await self._clock.sleep(min(self._pace.beat, max(0.0, holding.until - self._clock.monotonic())))
            begin = self._clock.monotonic()
            try:
                async with asyncio.timeout(max(0.0, holding.until - begin)):
                    renewed = await self._store.write(_renew, lease)
            except (StoreError, TimeoutError):
                continue
            holding.until = begin + self._pace.trust if renewed else float("-inf")

    async def _give_back(self, lease: RoleLease, holding: Holding) -> None:
        """Release the role, so that another process can take it immediately."""
        holding.until = float("-inf")
        try:
            await self._store.write(_release, lease)
        except StoreError as error:
            log.warning("role_not_given_back", role=self._name, why=error.what)


async def _end(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _find(tx: Transaction, name: str) -> RoleLease | None:
    return tx.role_leases.find(name)


def _take(tx: Transaction, name: str, owner: str, node: str, seen: RoleLease | None) -> RoleLease | None:
    return tx.role_leases.take(name, owner, node, seen)


def _renew(tx: Transaction, lease: RoleLease) -> bool:
    return tx.role_leases.renew(lease)


def _release(tx: Transaction, lease: RoleLease) -> None:
    tx.role_leases.release(lease)
