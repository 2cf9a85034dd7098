"""Backups while the daemon runs: one at a time, on a separate thread, aborted when the daemon stops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import structlog

from arvis.ports.backups import BackupFile
from arvis.ports.clock import Clock
from arvis.store.backups.folder import due_at, list_backups
from arvis.store.backups.making import make_backup
from arvis.store.location import Database

log = structlog.get_logger(__name__)

_SECOND_MS = 1000
#: The minimum interval: with shorter ones the daemon would do nothing but backups.
_LEAST_MS = 60_000


class BackupService:
    """Implements `arvis.ports.backups.Backups`. `every` in ms, a minute at least."""

    def __init__(self, *, database: Database, every: int, clock: Clock) -> None:
        self._database = database
        self._every = max(every, _LEAST_MS)
        self._clock = clock
        self._making = asyncio.Lock()

    async def make(self) -> BackupFile:
        async with self._making:
            stop = threading.Event()
            work = asyncio.ensure_future(asyncio.to_thread(make_backup, self._database, self._clock.now(), stop=stop))
            try:
                return await asyncio.shield(work)
            finally:
                # A thread cannot be cancelled: it gets a signal, and has removed its unfinished files when it ends.
                stop.set()
                await asyncio.gather(work, return_exceptions=True)

    async def all(self) -> Sequence[BackupFile]:
        return await asyncio.to_thread(list_backups, self._database)

    async def run_due(self) -> float:
        """Make a backup if one is due; return the seconds to the next, by the names of the existing ones. Raises as
        `make`."""
        due = await self._due()
        if due <= self._clock.now():
            made = await self.make()
            log.info("backup_made", path=str(made.path), bytes=made.bytes, messages=made.messages, missing=made.missing)
            due = await self._due()
        return max(0, due - self._clock.now()) / _SECOND_MS

    async def _due(self) -> int:
        return await asyncio.to_thread(due_at, self._database, self._every, self._clock.now())
