"""Passes events on inside one process (`EventBus`), and between the processes that share a database (`Bridge`).

Events only announce changes: data that must not be lost is committed before its event is published. The bus never waits
and stores no events. The failure of a listener affects neither the other listeners nor the publisher. The bridge sends
each event to the other processes once and does not repeat a lost event. Receivers neither acknowledge nor forward
events.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from arvis.domain.changes import CHANGE_EVENTS, changes_of
from arvis.domain.dataclass import replace
from arvis.domain.events import (
    AccountsChanged,
    AgentMoved,
    BotsChanged,
    Changed,
    ConversationRewound,
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
from arvis.ports.bus import NOTICE_BYTES, Relay, Topic

#: The events that are sent to other processes, and the processes (`Topic`) that receive them.
CROSSING: Mapping[type[Any], Topic] = {
    TypingRequested: Topic.CHAT,
    Delta: Topic.CHAT,
    DeliveryAdded: Topic.CHAT,
    StatusChanged: Topic.CHAT,
    AgentMoved: Topic.CHAT,
    ConversationRewound: Topic.CHAT,
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

#: The events that dashboard pages need but that are not sent to the processes that serve pages. These processes get the
#: event `Changed` instead.
_SENT_AS_CHANGES = [kind for kind in CHANGE_EVENTS if CROSSING.get(kind) is not Topic.CHAT]
#: The seconds for which changes are collected before they are sent together.
_CHANGES_SECONDS = 0.2
#: The maximum number of changes of one topic that are sent with their ids. If there are more changes, one change
#: without an id is sent instead.
_MOST_IDS = 8

#: The maximum number of characters in one sent piece of an answer. A character takes at most twelve bytes in JSON (two
#: escapes of a surrogate pair), so at least 1,200 bytes remain for the other fields.
_PIECE = NOTICE_BYTES // 12 - 100


class Bridge:
    """The connection to the other processes. It sends the events of this process to the other processes. It publishes
    events of other processes in this process if the events belong to `topics`."""

    def __init__(self, *, bus: EventBus, relay: Relay, topics: Collection[Topic]) -> None:
        self._bus = bus
        self._relay = relay
        self._topics = topics
        self._repeating = False
        self._changes: dict[str, set[str | None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, event: Event) -> None:
        """Send an event to the other processes now. Raise `StoreError` if it could not be sent."""
        await self._relay.tell(CROSSING[type(event)], encode(event))

    @contextmanager
    def passing_on(self) -> Iterator[None]:
        """Send the events of this process to the other processes while the block runs."""
        endings = [self._bus.subscribe(kind, self._pass_on) for kind in CROSSING if kind is not Changed]
        endings += [self._bus.subscribe(kind, self._gather) for kind in (Changed, *_SENT_AS_CHANGES)]
        try:
            yield
        finally:
            for end in endings:
                end()
            self._post_changes()

    async def run(self, up: Callable[[], None]) -> None:
        """Publish the events of other processes until cancelled. Raise `StoreError` if the connection breaks; the
        caller then calls this method again."""
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
        """Collect the changes of an event and send them after `_CHANGES_SECONDS`, so that many changes in a short time
        cause few notices."""
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
    """Return an event as one line of JSON: its name and its fields."""
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    if "address" in fields:
        fields["address"] = fields["address"].to_json()
    return json.dumps([type(event).__name__, fields], separators=(",", ":"))


def decode(notice: str) -> Event | None:
    """Return the event from its JSON; None if another version of Arvis sent an event that this version does not
    know."""
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
    """Yield the event. If it is a `Delta` with a long text, yield several events instead, each with a part of the
    text."""
    if not isinstance(event, Delta):
        yield event
        return
    for start in range(0, len(event.text), _PIECE):
        yield replace(event, offset=event.offset + start, text=event.text[start : start + _PIECE])


E = TypeVar("E", bound=Event)


class EventBus:
    """The events inside one process. Use it only in the thread of the event loop, which also runs the listeners."""

    def __init__(self, *, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(__name__)
        self._listeners: dict[type[Any], tuple[_Subscription, ...]] = {}
        self._subscribing = threading.Lock()

    def publish(self, event: Event) -> None:
        """Call every listener that subscribed to the type of this event. Never raises and never waits."""
        # The tuple is never changed in place, so listeners may subscribe and unsubscribe during the loop.
        for subscription in self._listeners.get(type(event), ()):
            if subscription.active:
                try:
                    subscription.listener(event)
                except Exception:
                    # The other listeners must still get the event. Only the type of the event is logged, because the
                    # event may contain people's texts.
                    self._logger.exception("a listener failed on %s", type(event).__name__)

    def subscribe(self, kind: type[E], listener: Callable[[E], None]) -> Callable[[], None]:
        """Call `listener` for each event of this type from now on. The returned function ends the subscription. Any
        thread may call this method, because parts that are built on demand subscribe in another thread. `publish` calls
        all listeners."""
        subscription = _Subscription(listener)
        with self._subscribing:
            self._listeners[kind] = (*self._listeners.get(kind, ()), subscription)

        def unsubscribe() -> None:
            subscription.active = False
            with self._subscribing:
                self._listeners[kind] = tuple(other for other in self._listeners[kind] if other is not subscription)

        return unsubscribe

    @contextmanager
    def signal(self, *kinds: type[E], when: Callable[[E], bool] | None = None) -> Iterator[Signal]:
        """Yield a signal that each event of these types sets. With `when`, only the events that meet this condition
        set it."""
        signal = Signal()

        def listen(event: E) -> None:
            if when is None or when(event):
                signal.set()

        with ExitStack() as subscriptions:
            for kind in kinds:
                subscriptions.callback(self.subscribe(kind, listen))
            yield signal


class Signal:
    """Wakes one waiting task. A signal that is set while the task works is not lost: the next wait ends at once."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the signal is set, at most for this time. Then reset the signal."""
        # The timeout uses the monotonic clock: the wall clock may be set.
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()


class _Subscription:
    """One subscription of a listener; the same function may subscribe several times. While `active` is False, the
    listener gets no events, even if `publish` has already begun to notify the listeners."""

    __slots__ = ("active", "listener")

    def __init__(self, listener: Callable[[Any], None]) -> None:
        self.listener = listener
        self.active = True
