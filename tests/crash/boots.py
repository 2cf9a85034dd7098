"""The boots of all processes of an episode, numbered in order: a boot is one start of a process until its end."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from tests.crash.history import Boot


class BootLog:
    """A record of the boots, written by the harness as it observes them."""

    def __init__(self) -> None:
        self._boots: list[Boot] = []
        self._current: dict[str, int] = {}

    @property
    def boots(self) -> tuple[Boot, ...]:
        return tuple(self._boots)

    def of(self, place: str) -> int:
        """Return the number of this process's newest boot; 0 before its first."""
        return self._current.get(place, 0)

    def newest(self, place: str) -> Boot:
        return self._boots[self._current[place] - 1]

    def begin(self, place: str) -> None:
        boot = Boot(len(self._boots) + 1, time.monotonic(), None, None, place)
        self._boots.append(boot)
        self._current[place] = boot.number

    def ready(self, place: str) -> None:
        self._change(place, ready=time.monotonic())

    def stop_requested(self, place: str) -> None:
        self._change(place, stop_requested=time.monotonic())

    def suspended(self, place: str, since: float) -> None:
        self._change(place, suspended=(*self.newest(place).suspended, (since, time.monotonic())))

    def ended(self, place: str, *, killed: bool = False) -> None:
        """Record the end of the newest boot, unless it is recorded: a killed process ends when the signal is sent."""
        if self.newest(place).ended is None:
            self._change(place, ended=time.monotonic(), killed=killed)

    def _change(self, place: str, **changes: Any) -> None:
        number = self._current[place]
        self._boots[number - 1] = replace(self._boots[number - 1], **changes)
