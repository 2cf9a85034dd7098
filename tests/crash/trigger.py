"""A moment that a blow can be aimed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen in that moment: the process that it concerns, where that is known, and the messages."""

    place: str | None = None
    tokens: Sequence[str] = ()


class Trigger:
    """Calls an armed action at the next `fire`, at once and only that time: a kill aimed at an acknowledgement
    must not wait for the event loop to come round."""

    def __init__(self) -> None:
        self._action: Callable[[Sight], None] | None = None
        self._token: str | None = None

    def arm(self, action: Callable[[Sight], None], *, token: str | None = None) -> None:
        """`token`: only when this message is concerned."""
        self._action, self._token = action, token

    def disarm(self) -> None:
        self._action = None

    def fire(self, sight: Sight) -> bool:
        """Return whether there was an action."""
        if self._action is None or (self._token is not None and self._token not in sight.tokens):
            return False
        action, self._action = self._action, None
        action(sight)
        return True


@dataclass(frozen=True, slots=True)
class Moments:
    """When a message was acknowledged, and when it was with a client that dies before it hears of it; when the
    model was asked, and when it had given its whole answer; when a reply reached a screen."""

    acknowledged: Trigger = field(default_factory=Trigger)
    unheard: Trigger = field(default_factory=Trigger)
    asked: Trigger = field(default_factory=Trigger)
    answered: Trigger = field(default_factory=Trigger)
    shown: Trigger = field(default_factory=Trigger)
