"""Requests that wait until a message is finished or needs a person.

The bus wakes them; nothing here polls. An event is only a signal: the waiting request then reads the status from the
database. A request stops waiting when its credential ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from arvis.domain.errors import ArvisError
from arvis.domain.events import NoticesMissed, StatusChanged
from arvis.domain.messages import FINAL_STATUSES, MessageStatus
from arvis.ports.bus import Bus
from arvis.web.auth.open_access import OpenAccess, access_ended
from arvis.web.http.errors import STOPPING, Failure, failure_of
from arvis.web.http.identity import Identity

#: Statuses that end a wait: the message is finished, or it needs a person.
SETTLED_STATUSES = FINAL_STATUSES | {MessageStatus.WAITING}


class Watch:
    """One request that waits for one message. It ends once `closed`. `refused` is set when its caller may no longer
    receive anything."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self.closed = False
        self.refused: ArvisError | None = None

    @property
    def failure(self) -> Failure:
        """The error that ended the wait."""
        return STOPPING if self.refused is None else failure_of(self.refused)

    def raise_if_refused(self) -> None:
        if self.refused is not None:
            raise self.refused

    async def changed(self, timeout: float) -> None:
        """Wait until the message is finished or needs a person, until the server stops, or for `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        self._woken.clear()

    def wake(self, *, close: bool = False) -> None:
        self.closed = self.closed or close
        self._woken.set()

    def refuse(self) -> None:
        self.refused = access_ended()
        self.wake(close=True)


class StatusWaiter:
    """All waiting requests of this server, by message."""

    def __init__(self, *, access: OpenAccess) -> None:
        self._access = access
        self._watches: dict[str, set[Watch]] = {}
        self._closed = False

    @contextlib.contextmanager
    def listening(self, bus: Bus) -> Iterator[None]:
        """Subscribe to the bus."""
        self._closed = False
        subscriptions = [
            bus.subscribe(StatusChanged, self._status_changed),
            bus.subscribe(NoticesMissed, lambda _: self._wake_all()),
        ]
        try:
            yield
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    def close(self) -> None:
        """End all waits because the server stops."""
        self._closed = True
        self._wake_all(close=True)

    @contextlib.contextmanager
    def watch(self, message_id: str, identity: Identity) -> Iterator[Watch]:
        watch = Watch()
        watch.closed = self._closed
        watches = self._watches.setdefault(message_id, set())
        watches.add(watch)
        try:
            with self._access.held(identity, watch.refuse):
                yield watch
        finally:
            watches.discard(watch)
            if not watches:
                self._watches.pop(message_id, None)

    def watched(self, message_id: str) -> bool:
        return message_id in self._watches

    def _wake_all(self, *, close: bool = False) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.wake(close=close)

    def _status_changed(self, event: StatusChanged) -> None:
        if event.status in SETTLED_STATUSES:
            for watch in self._watches.get(event.message_id, ()):
                watch.wake()
