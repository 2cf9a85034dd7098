"""The clock and the store of an app for tests: tests advance the clock, and the store reports every commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from arvis.domain.agents import Agent
from arvis.ports.job_store import Claimer
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock

P = ParamSpec("P")
R = TypeVar("R")


class MovableClock(SystemClock):
    """The real clock, which tests advance."""

    def __init__(self) -> None:
        self._ahead = 0

    def now(self) -> int:
        return super().now() + self._ahead

    def put_forward(self, seconds: float) -> None:
        self._ahead += int(seconds * 1000)


class ObservedStore:
    """A store that reports every commit, so that tests can await changes instead of polling."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.changed = asyncio.Event()
        #: The names of the scripts of all commits, and of all reads.
        self.commits: list[str] = []
        self.reads: list[str] = []

    @property
    def shared(self) -> bool:
        return self._store.shared

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.commits.append(getattr(script, "__name__", type(script).__name__))
        try:
            return await self._store.write(script, *args, **kwargs)
        finally:
            self.changed.set()

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.reads.append(getattr(script, "__name__", type(script).__name__))
        return await self._store.read(script, *args, **kwargs)

    def attend(self, claimer: Claimer | None) -> None:
        self._store.attend(claimer)

    async def wait_for_change(self, timeout: float) -> bool:
        return await self._store.wait_for_change(timeout)

    async def put_blob(self, data: bytes) -> str:
        return await self._store.put_blob(data)

    async def get_blob(self, sha256: str) -> bytes | None:
        return await self._store.get_blob(sha256)

    async def delete_blob(self, sha256: str) -> None:
        await self._store.delete_blob(sha256)

    async def overwrite_deleted(self) -> bool:
        return await self._store.overwrite_deleted()


def add_agents(tx: Transaction, agents: Sequence[Agent], now: int) -> None:
    for agent in agents:
        tx.agents.add(agent, now)
