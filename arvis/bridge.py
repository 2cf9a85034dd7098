"""The bus of one process joined to those of the others that share its database.

Only notices cross: each is told once, may be lost, and is never answered. What came from outside is not passed on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from arvis.domain.changes import TELLING, changes_of
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
from arvis.ports.bus import Bus
from arvis.ports.relay import NOTICE_BYTES, Relay, Topic

#: What crosses, and who wants to hear it.
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

#: What pages want to hear of and only those hear who run jobs, or nobody: it crosses as `Changed`.
_SENT_AS_CHANGES = [kind for kind in TELLING if CROSSING.get(kind) is not Topic.CHAT]
#: Changes of so many seconds cross together; more than so many of one topic cross without their ids.
_CHANGES_SECONDS = 0.2
_MOST_IDS = 8

#: A character is at most twelve bytes of JSON (two escapes of a surrogate pair); the rest is for the other fields.
_PIECE = NOTICE_BYTES // 12 - 100


class Bridge:
    """Passes on what is published here, publishes what others say about `topics`."""

    def __init__(self, *, bus: Bus, relay: Relay, topics: Collection[Topic]) -> None:
        self._bus = bus
        self._relay = relay
        self._topics = topics
        self._repeating = False
        self._changes: dict[str, set[str | None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, event: Event) -> None:
        """Returns once the other processes were told; raises `StoreError` when they could not be."""
        await self._relay.tell(CROSSING[type(event)], encode(event))

    @contextmanager
    def passing_on(self) -> Iterator[None]:
        """Carry what this process publishes to the others, for the length of the block."""
        endings = [self._bus.subscribe(kind, self._pass_on) for kind in CROSSING if kind is not Changed]
        endings += [self._bus.subscribe(kind, self._gather) for kind in (Changed, *_SENT_AS_CHANGES)]
        try:
            yield
        finally:
            for end in endings:
                end()
            self._post_changes()

    async def run(self, up: Callable[[], None]) -> None:
        """Hear the others until cancelled. Raises `StoreError` when the connection breaks: start it again."""
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
        """What changed crosses a little later: a busy moment is one notice for each topic."""
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
    """One line of JSON: the name of the event and its fields."""
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    if "address" in fields:
        fields["address"] = fields["address"].to_json()
    return json.dumps([type(event).__name__, fields], separators=(",", ":"))


def decode(notice: str) -> Event | None:
    """None for what another version says and this one does not know."""
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
    """A long piece of an answer in several."""
    if not isinstance(event, Delta):
        yield event
        return
    for start in range(0, len(event.text), _PIECE):
        yield dataclasses.replace(event, offset=event.offset + start, text=event.text[start : start + _PIECE])
