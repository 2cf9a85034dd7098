"""Record the times at which a message passes certain methods of a running daemon.

Only `bench.profile` uses this module. During the context of `stamping`, functions that record the time and call the
originals replace these methods. All other parts of the daemon are as in production.
"""

from __future__ import annotations

import functools
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from arvis.delivery import Deliverer
from arvis.inbox.inbox import InboxService
from arvis.llm.runner import Runner
from arvis.message_flow import MessageFlow
from arvis.queue.slots import SlotPool
from arvis.store.repositories.jobs import SqlJobs
from arvis.store.sqlite.store import SqliteStore
from arvis.web.realtime.connector import WebConnector


class Stamps:
    """The recorded times by the name of the mark, in order. Any thread may add a time."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}

    def mark(self, name: str) -> None:
        self._times.setdefault(name, []).append(time.perf_counter())

    def first_after(self, name: str, moment: float) -> float | None:
        """Return the first time of this mark after `moment`; None if there is none."""
        times = self._times.get(name, [])
        place = bisect_right(times, moment)
        return times[place] if place < len(times) else None


@contextmanager
def stamping() -> Iterator[Stamps]:
    stamps = Stamps()
    with ExitStack() as stack:
        for owner, method, before, after in (
            (InboxService, "receive", "received", None),
            (SqlJobs, "claim", None, "claimed"),
            (SlotPool, "deliver", "committed", None),
            (MessageFlow, "run", "begun", None),
            (SqliteStore, "read", None, "read"),
            (Runner, "run", "calling", "called"),
            (Deliverer, "show", "delivering", None),
            (WebConnector, "show", None, "pushed"),
        ):
            stack.enter_context(_replaced(owner, method, functools.partial(_marked, stamps, before, after)))
        stack.enter_context(_replaced(SqliteStore, "write", functools.partial(_with_marked_script, stamps)))
        yield stamps


@contextmanager
def _replaced(owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, wrap(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def _marked(stamps: Stamps, before: str | None, after: str | None, call: Callable[..., Any]) -> Callable[..., Any]:
    def note(name: str | None) -> None:
        if name is not None:
            stamps.mark(name)

    async def later(result: Any) -> Any:
        try:
            return await result
        finally:
            note(after)

    @functools.wraps(call)
    def marked(*args: Any, **kwargs: Any) -> Any:
        note(before)
        result = call(*args, **kwargs)
        if hasattr(result, "__await__"):
            return later(result)
        note(after)
        return result

    return marked


def _with_marked_script(stamps: Stamps, write: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(write)
    def marked(store: SqliteStore, script: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return write(store, _marked(stamps, "script", "scripted", script), *args, **kwargs)

    return marked
