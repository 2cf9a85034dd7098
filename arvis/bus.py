"""Events inside one process: publish, subscribe, isolate failures.

The bus only announces; the database stores: data that must not be lost is a row before it is an event. The bus never
waits, never keeps an event, and never lets one listener's failure reach another or the publisher.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from arvis.domain.events import Event

E = TypeVar("E", bound=Event)


class EventBus:
    """Implements `arvis.ports.bus.Bus`. Belongs to the event loop's thread, like every listener."""

    def __init__(self, *, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(__name__)
        self._listeners: dict[type[Any], tuple[_Subscription, ...]] = {}

    def publish(self, event: Event) -> None:
        # The tuple is never changed in place, so listeners may subscribe and unsubscribe during the loop.
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
            # Exceptions are caught here so that a failing listener does not cost the others their event. Only the
            # type of the event is logged, because the event may contain people's texts.
            self._logger.exception("a listener failed on %s", type(event).__name__)


class _Subscription:
    """One listener; the same function may subscribe twice. `active` also ends it in the middle of a loop."""

    __slots__ = ("active", "listener")

    def __init__(self, listener: Callable[[Any], None]) -> None:
        self.listener = listener
        self.active = True
