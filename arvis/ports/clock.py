"""Time for all components: a clock is passed in, and no component reads the system clock itself."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Return milliseconds since the epoch (wall clock)."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes backwards, for durations."""
        ...

    async def sleep(self, seconds: float) -> None: ...
