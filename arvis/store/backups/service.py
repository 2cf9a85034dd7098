"""Makes backups in a running daemon: backups that are due, and backups that a person requests in the dashboard.

The daemon makes one backup at a time, on a separate thread. If the daemon stops, the backup is aborted.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import structlog

from arvis.domain.dataclass import replace
from arvis.domain.errors import ArvisError, NotFound
from arvis.ports.backups import BackupFile, BackupWatch, RestoreOutcome, RestoreState
from arvis.ports.clock import Clock
from arvis.store.backups.archive import read_summary, verify_archive
from arvis.store.backups.folder import described, due_at, free_path, list_backups, prune
from arvis.store.backups.making import make_backup, refuse_server
from arvis.store.backups.requested import last_restore, request_restore
from arvis.store.blobs import create_private, disk_trouble, private_folder, sync_file, sync_folder
from arvis.store.location import Database

log = structlog.get_logger(__name__)

_SECOND_MS = 1000
#: The minimum time (ms) between two backups, even if the configuration sets less.
_LEAST_MS = 60_000
#: The pause in seconds after a failed backup.
_AGAIN_SECONDS = 3600.0


def _listed(database: Database, name: str) -> Path:
    for backup in list_backups(database):
        if backup.path.name == name:
            return backup.path
    raise NotFound("There is no backup with this name.", fix="GET /api/backups lists the names of the backups.")


def _take_in(database: Database, part: Path) -> BackupFile:
    """Verify a received file, and rename it to an uploaded backup."""
    summary, encrypted = read_summary(part)
    verify_archive(part, threading.Event(), database.passphrase)
    sync_file(part)
    path = free_path(part.parent, summary.created_at, None, encrypted=encrypted, uploaded=True)
    part.replace(path)
    sync_folder(path.parent)
    prune(database, like=path)
    return replace(described(path, summary, encrypted=encrypted), uploaded=True)


class BackupService:
    """Implements the port `Backups`. `every` is the time (ms) between two backups. A time below one minute counts as
    one minute. `watch` is called with each new backup, and with the error of each due backup that failed. `restart`
    restarts the daemon after the running requests."""

    def __init__(
        self, *, database: Database, every: int, clock: Clock, watch: BackupWatch, restart: Callable[[], None]
    ) -> None:
        self._database = database
        self._every = max(every, _LEAST_MS)
        self._clock = clock
        self._watch = watch
        self._restart = restart
        self._watching: set[asyncio.Future[None]] = set()
        self._uploads = itertools.count(1)
        self._making = asyncio.Lock()

    async def make(self) -> BackupFile:
        made = await self._make()
        # The caller does not wait for `watch`, which may copy the backup to another machine.
        watching = asyncio.ensure_future(self._watch.made(made))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return made

    async def _make(self) -> BackupFile:
        async with self._making:
            stop = threading.Event()
            work = asyncio.ensure_future(asyncio.to_thread(make_backup, self._database, self._clock.now(), stop=stop))
            try:
                return await asyncio.shield(work)
            finally:
                # A thread cannot be cancelled. It aborts soon after `stop` is set, and removes its unfinished files.
                stop.set()
                await asyncio.gather(work, return_exceptions=True)

    async def all(self) -> Sequence[BackupFile]:
        return await asyncio.to_thread(list_backups, self._database)

    async def path(self, name: str) -> Path:
        return await asyncio.to_thread(_listed, self._database, name)

    async def receive(self, parts: AsyncIterator[bytes]) -> BackupFile:
        refuse_server(self._database)
        part = self._database.backups / f".arvis-upload-{next(self._uploads)}.part"
        try:
            with disk_trouble("The backup cannot be stored"):
                private_folder(part.parent)
                with create_private(part) as file:
                    async for piece in parts:
                        await asyncio.to_thread(file.write, piece)
            return await asyncio.to_thread(_take_in, self._database, part)
        finally:
            part.unlink(missing_ok=True)

    async def restore(self, name: str) -> RestoreOutcome:
        refuse_server(self._database)
        path = await self.path(name)
        await asyncio.to_thread(verify_archive, path, threading.Event(), self._database.passphrase)
        await asyncio.to_thread(request_restore, self._database, path, self._clock.now())
        log.warning("restore_requested", path=str(path), why="an owner requested it, so the daemon restarts")
        self._restart()
        return RestoreOutcome(RestoreState.REQUESTED, name, self._clock.now())

    async def last_restore(self) -> RestoreOutcome | None:
        return await asyncio.to_thread(last_restore, self._database)

    async def run_due(self) -> float:
        """Make a backup if one is due. Return the seconds until the next backup is due or, after an error, until the
        next attempt."""
        due = await self._due()
        if due <= self._clock.now():
            try:
                made = await self._make()
            except ArvisError as error:
                await self._watch.failed(error)
                return _AGAIN_SECONDS
            log.info("backup_made", path=str(made.path), bytes=made.bytes, messages=made.messages, missing=made.missing)
            await self._watch.made(made)
            due = await self._due()
        return max(0, due - self._clock.now()) / _SECOND_MS

    async def _due(self) -> int:
        return await asyncio.to_thread(due_at, self._database, self._every, self._clock.now())
