"""Moments at which a blow can be aimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sight:
    """The facts about a moment: the process concerned, if it is known, and the messages."""

    place: str | None = None
    tokens: Sequence[str] = ()


class Trigger:
    """Calls an armed action once, at the next `fire`.

    The call is synchronous: a kill aimed at an acknowledgement must not wait for the next iteration of the event loop.
    """

    def __init__(self) -> None:
        self._action: Callable[[Sight], None] | None = None
        self._token: str | None = None

    def arm(self, action: Callable[[Sight], None], *, token: str | None = None) -> None:
        """Arm an action. With `token`, it is called only for this message."""
        self._action, self._token = action, token

    def disarm(self) -> None:
        self._action = None

    def fire(self, sight: Sight) -> bool:
        """Call the armed action. Return whether there was one."""
        if self._action is None or (self._token is not None and self._token not in sight.tokens):
            return False
        action, self._action = self._action, None
        action(sight)
        return True


@dataclass(frozen=True, slots=True)
class Moments:
    """The moments of an episode."""

    #: A client has received an acknowledgement.
    acknowledged: Trigger = field(default_factory=Trigger)
    #: An acknowledgement has arrived, but the client loses it.
    unheard: Trigger = field(default_factory=Trigger)
    #: The model has received a request.
    asked: Trigger = field(default_factory=Trigger)
    #: The model has sent a whole answer.
    answered: Trigger = field(default_factory=Trigger)
    #: A client has received a reply.
    shown: Trigger = field(default_factory=Trigger)
