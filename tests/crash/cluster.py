"""The processes of an episode. A single daemon that has all roles is a cluster of one process.

Each process has its own data folder, port and log. Several processes share a database and its work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.daemon import BootLog, Daemon, free_port, write_config

#: The role of each kind of process; None stands for all roles.
ROLES = {"daemon": None, "web": "web", "worker": "workers"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of processes of each kind: complete daemons, or separate web processes and workers."""

    daemons: int = 1
    webs: int = 0
    workers: int = 0

    @property
    def places(self) -> list[tuple[str, str]]:
        """Return the kind and the name of each process."""
        counts = {"daemon": self.daemons, "web": self.webs, "worker": self.workers}
        return [
            (kind, kind if count == 1 else f"{kind}-{number}")
            for kind, count in counts.items()
            for number in range(1, count + 1)
        ]


@dataclass(frozen=True, slots=True)
class Site:
    """The common settings of all processes."""

    #: The folder from which the program is imported.
    code: Path
    #: The parent of the processes' folders.
    folder: Path
    #: A PostgreSQL URL; None: SQLite, for a single process.
    database: str | None
    model_url: str
    api_key: str
    #: Further settings of the configuration.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Creates the object for one process.
    daemon: Callable[..., Daemon] = Daemon


class Cluster:
    """Starts and stops its processes. `addresses` are the URLs of the web servers."""

    def __init__(self, *, site: Site, shape: Shape, boot_log: BootLog) -> None:
        self._site = site
        self.boot_log = boot_log
        self.addresses: dict[str, str] = {}
        self.daemons = [self._daemon(kind, name) for kind, name in shape.places]

    def _daemon(self, kind: str, name: str) -> Daemon:
        site, port = self._site, free_port()
        folder = site.folder / name
        folder.mkdir()
        write_config(
            folder / "config.yaml",
            port=port,
            api_key=site.api_key,
            model_url=site.model_url,
            database=site.database,
            model_key=name,
            settings=site.settings,
        )
        if kind != "worker":
            self.addresses[name] = f"http://127.0.0.1:{port}"
        return site.daemon(
            code=site.code,
            folder=folder,
            config=folder / "config.yaml",
            name=name,
            roles=ROLES[kind],
            boot_log=self.boot_log,
        )

    def named(self, name: str) -> Daemon:
        return next(daemon for daemon in self.daemons if daemon.name == name)

    def some(self, rng: Random) -> list[Daemon]:
        """Return one process in most cases, sometimes several, rarely all."""
        if rng.random() < 0.75:
            return [rng.choice(self.daemons)]
        return rng.sample(self.daemons, rng.randint(1, len(self.daemons)))

    async def start(self) -> list[Daemon]:
        """Start the next boot of each process that is not running, and return these processes."""
        stopped = [daemon for daemon in self.daemons if not daemon.alive]
        await asyncio.gather(*(daemon.start() for daemon in stopped))
        return stopped

    async def ready(self) -> None:
        await _all(daemon.ready() for daemon in self.daemons)

    async def first_killed(self) -> None:
        """Wait until one of the killed processes has ended."""
        ends = [asyncio.create_task(daemon.killed()) for daemon in self.daemons]
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in done:
                end.result()
        finally:
            for end in ends:
                end.cancel()

    async def stop(self) -> None:
        await _all(daemon.stop() for daemon in self.daemons)

    async def close(self) -> None:
        for daemon in self.daemons:
            await daemon.close()

    def complaints(self) -> list[str]:
        return list(dict.fromkeys(line for daemon in self.daemons for line in daemon.complaints()))


async def _all(waiting: Iterable[Awaitable[None]]) -> None:
    """Wait for the end of all, then raise the first failure."""
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
