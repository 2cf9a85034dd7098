"""Events of an episode at which an action, such as a disturbance, can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts about an event: the process concerned, if it is known, and the messages."""

    place: str | None = None
    tokens: Sequence[str] = ()


class Trigger:
    """Calls an armed action once, at the next `fire`.

    The call is synchronous: a kill at an acknowledgement must not wait for the next iteration of the event loop.
    """

    def __init__(self) -> None:
        self._action: Callable[[Observation], None] | None = None
        self._token: str | None = None

    def arm(self, action: Callable[[Observation], None], *, token: str | None = None) -> None:
        """Arm an action. With `token`, it is called only for this message."""
        self._action, self._token = action, token

    def disarm(self) -> None:
        self._action = None

    def fire(self, observation: Observation) -> bool:
        """Call the armed action. Return whether there was one."""
        if self._action is None or (self._token is not None and self._token not in observation.tokens):
            return False
        action, self._action = self._action, None
        action(observation)
        return True


@dataclass(frozen=True, slots=True)
class Triggers:
    """The triggers of an episode."""

    #: A client has received an acknowledgement.
    acknowledged: Trigger = field(default_factory=Trigger)
    #: An acknowledgement has arrived, but the client loses it.
    ack_lost: Trigger = field(default_factory=Trigger)
    #: The model has received a request.
    asked: Trigger = field(default_factory=Trigger)
    #: The model has sent a whole answer.
    answered: Trigger = field(default_factory=Trigger)
    #: A client has received a reply.
    shown: Trigger = field(default_factory=Trigger)
    #: A client is about to ask for a rewind, a switch of versions or a branch.
    rewound: Trigger = field(default_factory=Trigger)
