"""A moment that a kill can be aimed at."""

from __future__ import annotations

from collections.abc import Callable


class Trigger:
    """Calls an armed action at the next `fire`, at once and only that time: a kill aimed at an acknowledgement
    must not wait for the event loop to come round."""

    def __init__(self) -> None:
        self._action: Callable[[], None] | None = None

    def arm(self, action: Callable[[], None]) -> None:
        self._action = action

    def disarm(self) -> None:
        self._action = None

    def fire(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()
