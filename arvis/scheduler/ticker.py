"""An alarm with APScheduler, which is used for nothing else (docs/adr/0006): one date job, replaced each time, fires
once.

It stores no times that could be missed: the process that wakes up reads the rows. A wall clock that is set back
delays the alarm by as much, so no code may rely on it alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

_NAME = "soonest"


class Ticker:
    """An alarm that belongs to the event loop in which it is first set: an installation without schedules does not
    load the library. `ring` must not block."""

    def __init__(self, *, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._alarm: Any = None

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.shutdown(wait=False)

    def set(self, seconds: float) -> None:
        """Fire once after this many seconds, in place of any earlier setting."""
        if self._alarm is None:
            library = importlib.import_module("apscheduler.schedulers.asyncio")
            self._alarm = library.AsyncIOScheduler(timezone=UTC)
            self._alarm.start()
        # The library reads the clock of the system, even if this process uses another clock.
        at = datetime.now(UTC) + timedelta(seconds=seconds)
        self._alarm.add_job(self._rung, "date", run_date=at, id=_NAME, replace_existing=True, misfire_grace_time=None)

    async def _rung(self) -> None:
        """A coroutine, because the library would call a function in a thread."""
        self._ring()
