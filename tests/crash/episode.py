"""One episode: new data folders, a load, a number of disturbances, a drain, a clean stop.

All random values come from the seed of the episode. An episode returns a history and does not judge it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

import aiohttp

from arvis.testing.openai_server import Behaviour, openai_server
from tests.crash.cluster import Cluster, Shape, Site
from tests.crash.daemon import CHECKOUT, BootLog, Daemon, DaemonFailed
from tests.crash.disturbances import Disturbance, Disturber, Instant
from tests.crash.endpoint import Endpoint, Endpoints
from tests.crash.triggers import Triggers
from tests.crash.users import Refused

API_KEY = "crash-campaign-key"
#: The daemon's default lease (seconds), for plans without one.
LEASE = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of an episode. A campaign sets seed, disturbances, folder and database of each of its episodes."""

    seed: str = ""
    #: Number of disturbances.
    disturbances: int = 0
    #: The folder from which the program is imported.
    code: Path = CHECKOUT
    folder: Path = Path()
    disturbance: Disturbance = Disturbance.KILL
    instant: Instant = Instant.RANDOM
    shape: Shape = Shape()  # noqa: RUF009 frozen
    #: Maximum seconds from ready to a random disturbance.
    window: float = 2.0
    #: Seconds from ready until the wait for the event of an instant begins.
    wait_before: float = 0.0
    #: Messages per second of each user, on average.
    rate: float = 1.0
    #: Maximum length of the drain (seconds). After its fourth crash, a job pauses for 30 s.
    patience: float = 90.0
    #: A PostgreSQL server on which the episode creates its own database, and the URL of that database; None: SQLite.
    server: str | None = None
    database: str | None = None
    #: The lease in the configuration (seconds); None: the daemon's default.
    lease: float | None = None
    #: Creates the object for one process.
    daemon: Callable[..., Daemon] = Daemon


P = TypeVar("P", bound=Plan)
H = TypeVar("H")


class Episode(Generic[P, H]):
    """A cluster with a model under load. Each kind of episode has its own load and history."""

    endpoints: Endpoints
    cluster: Cluster

    def __init__(self, plan: P) -> None:
        self.plan = plan
        self.rng = Random(plan.seed)
        self.triggers = Triggers()
        self.boot_log = BootLog()
        #: Set when the load may end.
        self.over = asyncio.Event()
        self.problems: list[str] = []
        self.rows: dict[str, list[str]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.Task[None]] = []

    async def play(self) -> H:
        """Run the episode to its end. A failure becomes a problem of the history, not an exception."""
        plan = self.plan
        async with AsyncExitStack() as exits:
            model = await exits.enter_async_context(openai_server(default=self.model()))
            site = Site(
                plan.code, plan.folder, plan.database, model.base_url, API_KEY, await self.settings(exits), plan.daemon
            )
            self.cluster = Cluster(site=site, shape=plan.shape, boot_log=self.boot_log)
            exits.push_async_callback(self.cluster.close)
            session = await exits.enter_async_context(aiohttp.ClientSession())
            self.endpoints = Endpoints(
                [
                    Endpoint(session, url, API_KEY, self.cluster.named(name).up)
                    for name, url in self.cluster.addresses.items()
                ]
            )
            await self._run()
            return self.history()

    async def _run(self) -> None:
        try:
            await self.start_load()
            await self.disturb()
            self.over.set()
            await self.cluster.start()
            await self.cluster.ready()
            end = time.monotonic() + self.plan.patience
            await asyncio.wait(self._writers, timeout=self.plan.patience)
            await self.drain(end)
            await self.cluster.stop()
            self.rows = await asyncio.to_thread(self.inspect)
        except DaemonFailed as failure:
            self.problems.append(str(failure))
        except Refused as refused:
            self.problems.append(f"The episode failed: {refused!r}")
        finally:
            self.over.set()
            for task in self._tasks:
                task.cancel()
            results = await asyncio.gather(*self._tasks, return_exceptions=True)
        self.problems.extend(repr(each) for each in results if isinstance(each, Exception))
        self.problems.extend(self.cluster.complaints())

    def in_background(self, work: Coroutine[Any, Any, None], *, writes: bool = False) -> None:
        """Start a task that is cancelled at the end of the episode. The drain waits for those that write."""
        self._tasks.append(asyncio.create_task(work))
        if writes:
            self._writers.append(self._tasks[-1])

    @property
    def data(self) -> Path:
        """Return the data folder of the first process."""
        return self.plan.folder / self.cluster.daemons[0].name / "data"

    def model(self) -> Behaviour:
        """Return the model of the cluster."""
        raise NotImplementedError

    async def settings(self, exits: AsyncExitStack) -> Mapping[str, Any]:
        """Return further settings of the configuration."""
        return {} if self.plan.lease is None else {"queue": {"lease_seconds": self.plan.lease}}

    async def start_load(self) -> None:
        """Start the users in the background."""
        raise NotImplementedError

    async def disturb(self) -> None:
        """Play the disturbances of the plan."""
        disturber = Disturber(
            rng=self.rng,
            cluster=self.cluster,
            triggers=self.triggers,
            disturbance=self.plan.disturbance,
            instant=self.plan.instant,
            window=self.plan.window,
            wait_before=self.plan.wait_before,
            lease=self.plan.lease or LEASE,
        )
        for _ in range(self.plan.disturbances):
            await disturber.disturb()
            await self.record_disturbance()

    async def record_disturbance(self) -> None:
        """Record the state after a disturbance."""

    async def drain(self, end: float) -> None:
        """Wait until the work of the load is done, at most until `end`."""
        raise NotImplementedError

    def inspect(self) -> dict[str, list[str]]:
        """Return the offending rows of the stopped cluster's database, by rule."""
        raise NotImplementedError

    def history(self) -> H:
        """Return the facts so far."""
        raise NotImplementedError
