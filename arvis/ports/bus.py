"""The bus: notices inside one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from arvis.domain.events import Event

E = TypeVar("E", bound=Event)


class Bus(Protocol):
    def publish(self, event: Event) -> None:
        """Hand an event to everyone who subscribed to its type. Never raises, never waits."""
        ...

    def subscribe(self, kind: type[E], listener: Callable[[E], None]) -> Callable[[], None]:
        """Call `listener` for each event of this type from now on; the returned function ends it."""
        ...
