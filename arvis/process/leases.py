"""Roles that only one process may hold at a time: a bot account, the scheduler.

The holder writes a sign of life to the database. Other processes wait until the sign has not changed for the length
of a lease, each by its own monotonic clock, so the clocks need not agree. The holder trusts its lease for a shorter
time than others wait, and stops when that time is over: there are never two holders. The commits of the holder are
fenced by its claim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from arvis.domain.errors import LeaseLost, StoreError
from arvis.ports.clock import Clock
from arvis.ports.repositories import RoleLease
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. A role is taken over at most `look + silence` after its holder died; `trust` counts from before a sign
    of life was sent and `silence` from after one was seen, so `trust < silence` is what keeps two apart."""

    beat: float = 0.75
    trust: float = 2.0
    look: float = 0.75
    silence: float = 3.0


class Holding:
    """A role that is held. Ask `held` before each thing that goes outside, `check` in each script."""

    def __init__(self, *, clock: Clock, lease: RoleLease | None, until: float) -> None:
        self._clock = clock
        self.lease = lease
        self.until = until

    @property
    def held(self) -> bool:
        """A process that was frozen knows by its clock, before it does anything, that its time is over."""
        return self._clock.monotonic() < self.until

    def check(self, tx: Transaction) -> None:
        """Raises `LeaseLost` when another process has taken the role."""
        if self.lease is not None and not tx.role_leases.held(self.lease):
            raise LeaseLost("Another process has taken over the role.")


Work = Callable[[Holding], Awaitable[None]]


class RoleLeaseManager:
    """Runs work while this process holds the role `name`. `owner` is the boot, `node` the data folder: a role that an
    earlier boot of this folder held is free, because the folder's lock proves that the boot is dead. A store that no
    other process writes needs no lease."""

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
        """Wait for the role, do the work, and wait again when the role is lost, until the work returns. Raises what the
        work fails with; the role is given back first."""
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
        """Wait until the role is free, or until its holder has been silent for the length of a lease."""
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
        """Return true if the work ended by itself, false if the role was lost."""
        working = asyncio.ensure_future(work(holding))
        beating = asyncio.create_task(self._beat(lease, holding))
        try:
            await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
            ended = working.done()
        finally:
            await _end(working)  # while the lease is still renewed
            await _end(beating)
            await self._give_back(lease, holding)
        if ended:
            working.result()
        return ended

    async def _beat(self, lease: RoleLease, holding: Holding) -> None:
        """Show signs of life; returns when the role is lost or can no longer be trusted to be held."""
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
        """So that another process need not wait for the silence."""
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
