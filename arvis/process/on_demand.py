"""Parts of the daemon that are built at their first use, because their modules take memory and time to import
(ADR 0069)."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from arvis.process.memory import importing

T_co = TypeVar("T_co", covariant=True)


class OnDemand(Generic[T_co]):
    """A part that is built at its first use and then stored. `entry` names the function that builds the part, in the
    form of an entry point (`module:function`), and `given` are the arguments of this function. The function runs in any
    thread, and must not start tasks."""

    def __init__(self, entry: str, **given: Any) -> None:
        self._entry = entry
        self._given = given
        self._building = threading.Lock()
        self._built: T_co | None = None
        self._awaited: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def get(self) -> T_co:
        """Return the part. The first call imports and builds the part in a thread. If this fails, the next call tries
        again."""
        built = self._built
        return built if built is not None else await asyncio.to_thread(self.now)

    async def used(self) -> T_co:
        """Wait until other code uses the part, and return it."""
        event = asyncio.Event()
        self._awaited.append((asyncio.get_running_loop(), event))
        if self._built is None:
            await event.wait()
        return await self.get()

    def now(self) -> T_co:
        """Return the part. The first call blocks until the part is built."""
        with self._building:
            built = self._built
            if built is None:
                built = self._built = self._build()
                for loop, event in self._awaited:
                    loop.call_soon_threadsafe(event.set)
            return built

    def _build(self) -> T_co:
        module, _, name = self._entry.partition(":")
        with importing():
            build: Callable[..., T_co] = getattr(importlib.import_module(module), name)
        return build(**self._given)
