"""Troubles of a month replay: restarts, cuts between commits, clocks that are set and set back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from arvis.ports.job_store import Claimer
from arvis.ports.store import Store, Transaction

P = ParamSpec("P")
R = TypeVar("R")

HOUR, DAY = 3_600, 86_400


class Cut(Exception):
    """The death of the process."""


class CuttingStore:
    """A store whose process dies at a chosen write, before the commit or directly after it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._left = 0
        self._committed = False

    def cut_in(self, writes: int, *, committed: bool) -> None:
        self._left = writes
        self._committed = committed

    @property
    def armed(self) -> bool:
        return self._left > 0

    @property
    def shared(self) -> bool:
        return self._store.shared

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self._left -= 1
        if self._left != 0:
            return await self._store.write(script, *args, **kwargs)
        if self._committed:
            await self._store.write(script, *args, **kwargs)
        raise Cut

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
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


@dataclass(frozen=True, slots=True)
class Trouble:
    """One trouble at the monotonic time `at`: the clock is set by `jump` seconds, the process dies at its `cut`-th
    write, or it is down for `down` seconds."""

    at: float
    jump: int = 0
    cut: int = 0
    down: float = 0.0


def troubles(chance: random.Random, seconds: float, restarts: int) -> list[Trouble]:
    """Return troubles in order. Each jump of the clock is reverted after some hours."""
    found = [_restart(chance, chance.uniform(0, seconds)) for _ in range(restarts)]
    for jump in (HOUR, -HOUR, DAY, -DAY):
        begin = chance.uniform(0, seconds * 0.7)
        found += [Trouble(begin, jump=jump), Trouble(begin + chance.uniform(0.02, 0.25) * seconds, jump=-jump)]
    return sorted(found, key=lambda trouble: trouble.at)


def _restart(chance: random.Random, at: float) -> Trouble:
    if chance.random() < 0.5:
        return Trouble(at, cut=chance.randint(1, 3))
    longest = chance.choices((40, 1.5 * HOUR, 12 * HOUR, 2.5 * DAY), weights=(60, 25, 12, 3))[0]
    return Trouble(at, down=chance.uniform(1, longest))
