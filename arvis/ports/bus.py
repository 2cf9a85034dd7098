"""Notices inside one process (`Bus`) and between the processes that share a database (`Relay`). A notice may be lost:
the database is authoritative."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol, TypeVar

from arvis.domain.events import Event

#: The maximum size of a notice, in bytes of UTF-8.
NOTICE_BYTES = 7_000


class Topic(StrEnum):
    """The receivers: processes that serve chats, or processes that run jobs."""

    CHAT = "chat"
    JOBS = "jobs"


class Relay(Protocol):
    def post(self, topic: Topic, notice: str) -> None:
        """Send a notice to the other processes soon, in the order of the calls. `notice` is one line of at most
        `NOTICE_BYTES`."""
        ...

    async def tell(self, topic: Topic, notice: str) -> None:
        """Send a notice and return after it was sent; raises `StoreError` if it could not be sent."""
        ...

    def listen(self, topics: Collection[Topic]) -> AbstractAsyncContextManager[AsyncIterator[Sequence[str]]]:
        """Yield the notices of other processes from the start of the block on, while the connection lasts. Raises
        `StoreError` when it breaks; notices sent in between are lost."""
        ...


E = TypeVar("E", bound=Event)


class Bus(Protocol):
    def publish(self, event: Event) -> None:
        """Hand an event to everyone who subscribed to its type. Never raises, never waits."""
        ...

    def subscribe(self, kind: type[E], listener: Callable[[E], None]) -> Callable[[], None]:
        """Call `listener` for each event of this type from now on; the returned function ends it."""
        ...
