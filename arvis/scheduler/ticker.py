"""APScheduler as an alarm clock, and as nothing else (docs/adr/0006): one date job, set anew each time, rings once.

It holds nothing that would be missed: whoever is woken reads the rows. A wall clock that is put back delays its ring by as
much, so nobody may rely on it alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

_NAME = "soonest"


class Ticker:
    """Belongs to the event loop in which it is first set: a house without schedules needs no library for them. `ring` must
    not wait."""

    def __init__(self, *, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._alarm: Any = None

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.shutdown(wait=False)

    def set(self, seconds: float) -> None:
        """Ring once after so many seconds, and not when it was set for before."""
        if self._alarm is None:
            library = importlib.import_module("apscheduler.schedulers.asyncio")
            self._alarm = library.AsyncIOScheduler(timezone=UTC)
            self._alarm.start()
        # The library reads the clock of the system, whatever clock this process was handed.
        at = datetime.now(UTC) + timedelta(seconds=seconds)
        self._alarm.add_job(self._rung, "date", run_date=at, id=_NAME, replace_existing=True, misfire_grace_time=None)

    async def _rung(self) -> None:
        """A coroutine, because anything else would be called in a thread."""
        self._ring()
