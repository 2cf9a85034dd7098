"""Notices inside one process: publish, subscribe, isolate failures.

The bus carries notice, the database carries duty: whatever must not be lost is a row before it is an event.
It never waits, never keeps an event and never lets one listener's failure reach another or the publisher.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from arvis.domain.events import Event

E = TypeVar("E", bound=Event)


class EventBus:
    """Implements `arvis.ports.bus.Bus`. Belongs to the event loop's thread, like everyone who listens."""

    def __init__(self, *, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(__name__)
        self._listeners: dict[type[Any], tuple[_Subscription, ...]] = {}

    def publish(self, event: Event) -> None:
        # The tuple is never changed in place, so listeners may come and go during the round.
        for subscription in self._listeners.get(type(event), ()):
            if subscription.active:
                self._notify(subscription, event)

    def subscribe(self, kind: type[E], listener: Callable[[E], None]) -> Callable[[], None]:
        subscription = _Subscription(listener)
        self._listeners[kind] = (*self._listeners.get(kind, ()), subscription)

        def unsubscribe() -> None:
            subscription.active = False
            self._listeners[kind] = tuple(other for other in self._listeners[kind] if other is not subscription)

        return unsubscribe

    def _notify(self, subscription: _Subscription, event: Event) -> None:
        try:
            subscription.listener(event)
        except Exception:
            # A named place: a broken listener must not cost the others their notice. Only the kind of the event
            # is logged, because it may carry what people wrote.
            self._logger.exception("a listener failed on %s", type(event).__name__)


class _Subscription:
    """One listener; the same function may subscribe twice. `active` ends it in the middle of a round, too."""

    __slots__ = ("active", "listener")

    def __init__(self, listener: Callable[[Any], None]) -> None:
        self.listener = listener
        self.active = True
