"""Events: inside one process, and between the processes with the same database.

The bus only announces; the database stores: data that must not be lost is a row before it is an event. The bus never
waits, never keeps an event, and never lets one listener's failure reach another or the publisher. The bridge sends
events to other processes: each is sent once, may be lost, and is never answered or forwarded.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from arvis.domain.changes import CHANGE_EVENTS, changes_of
from arvis.domain.events import (
    AccountsChanged,
    AgentMoved,
    BotsChanged,
    Changed,
    DeliveryAdded,
    Delta,
    Event,
    GraphCompleted,
    JobSettled,
    NoticesMissed,
    RunAdvanced,
    SchedulesChanged,
    SessionEnded,
    SettingsChanged,
    StatusChanged,
    TypingRequested,
)
from arvis.domain.messages import Address, MessageStatus
from arvis.ports.bus import NOTICE_BYTES, Bus, Relay, Topic

#: The events that cross, and the topics that receive them.
CROSSING: Mapping[type[Any], Topic] = {
    TypingRequested: Topic.CHAT,
    Delta: Topic.CHAT,
    DeliveryAdded: Topic.CHAT,
    StatusChanged: Topic.CHAT,
    AgentMoved: Topic.CHAT,
    GraphCompleted: Topic.CHAT,
    SessionEnded: Topic.CHAT,
    Changed: Topic.CHAT,
    RunAdvanced: Topic.CHAT,
    JobSettled: Topic.JOBS,
    AccountsChanged: Topic.JOBS,
    BotsChanged: Topic.JOBS,
    SettingsChanged: Topic.JOBS,
    SchedulesChanged: Topic.JOBS,
}
_BY_NAME = {kind.__name__: kind for kind in CROSSING}

#: Events that pages need, and that otherwise only processes with workers receive or none: they cross as `Changed`.
_SENT_AS_CHANGES = [kind for kind in CHANGE_EVENTS if CROSSING.get(kind) is not Topic.CHAT]
#: Seconds for which changes are collected before they cross together, and the number of one topic from which they
#: cross without their ids.
_CHANGES_SECONDS = 0.2
_MOST_IDS = 8

#: A character is at most twelve bytes of JSON (two escapes of a surrogate pair); the remaining bytes are for the
#: other fields.
_PIECE = NOTICE_BYTES // 12 - 100


class Bridge:
    """Forwards events that are published here, and publishes events from other processes about `topics`."""

    def __init__(self, *, bus: Bus, relay: Relay, topics: Collection[Topic]) -> None:
        self._bus = bus
        self._relay = relay
        self._topics = topics
        self._repeating = False
        self._changes: dict[str, set[str | None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, event: Event) -> None:
        """Send an event to the other processes. Raises `StoreError` when it could not be sent."""
        await self._relay.tell(CROSSING[type(event)], encode(event))

    @contextmanager
    def passing_on(self) -> Iterator[None]:
        """Forward the events of this process to the others while the block runs."""
        endings = [self._bus.subscribe(kind, self._pass_on) for kind in CROSSING if kind is not Changed]
        endings += [self._bus.subscribe(kind, self._gather) for kind in (Changed, *_SENT_AS_CHANGES)]
        try:
            yield
        finally:
            for end in endings:
                end()
            self._post_changes()

    async def run(self, up: Callable[[], None]) -> None:
        """Receive events of other processes until cancelled. Raises `StoreError` when the connection breaks: start it
        again."""
        async with self._relay.listen(self._topics) as received:
            self._bus.publish(NoticesMissed())
            up()
            async for notices in received:
                for notice in notices:
                    self._repeat(decode(notice))

    def _pass_on(self, event: Event) -> None:
        if self._repeating:
            return
        for piece in _pieces(event):
            self._relay.post(CROSSING[type(event)], encode(piece))

    def _gather(self, event: Event) -> None:
        """Collect changes for a moment: a busy period is one notice for each topic."""
        if self._repeating:
            return
        for change in changes_of(event):
            self._changes.setdefault(change.topic, set()).add(change.id)
        if self._changes and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_CHANGES_SECONDS, self._post_changes)

    def _post_changes(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        changes, self._changes = self._changes, {}
        for topic, ids in changes.items():
            for id_ in [None] if None in ids or len(ids) > _MOST_IDS else ids:
                self._relay.post(CROSSING[Changed], encode(Changed(topic, id_)))

    def _repeat(self, event: Event | None) -> None:
        if event is None:
            return
        self._repeating = True
        try:
            self._bus.publish(event)
        finally:
            self._repeating = False


def encode(event: Event) -> str:
    """Return one line of JSON: the name of the event and its fields."""
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    if "address" in fields:
        fields["address"] = fields["address"].to_json()
    return json.dumps([type(event).__name__, fields], separators=(",", ":"))


def decode(notice: str) -> Event | None:
    """Return the event; None for one of another version that this one does not know."""
    name, fields = json.loads(notice)
    kind = _BY_NAME.get(name)
    if kind is None or {field.name for field in dataclasses.fields(kind)} != set(fields):
        return None
    if "address" in fields:
        fields["address"] = Address.from_json(fields["address"])
    if kind is StatusChanged:
        fields["status"] = MessageStatus(fields["status"])
    event: Event = kind(**fields)
    return event


def _pieces(event: Event) -> Iterator[Event]:
    """Divide a long piece of an answer into several."""
    if not isinstance(event, Delta):
        yield event
        return
    for start in range(0, len(event.text), _PIECE):
        yield dataclasses.replace(event, offset=event.offset + start, text=event.text[start : start + _PIECE])


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
