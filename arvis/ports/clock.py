"""The clock of all components. It is passed to them, so that tests can control the time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Return the time of the system clock, in ms since 1970."""
        ...

    def monotonic(self) -> float:
        """Return the seconds of a clock that is never set back. Only differences between its values have a meaning."""
        ...

    async def sleep(self, seconds: float) -> None: ...
