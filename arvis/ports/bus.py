"""Notices between the processes that share a database. A notice may be lost, so receivers read the data from the
database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

#: The maximum size of a notice, in bytes of UTF-8.
NOTICE_BYTES = 7_000


class Topic(StrEnum):
    """The receivers of a notice: processes that serve chats, or processes that run jobs."""

    CHAT = "chat"
    JOBS = "jobs"


class Relay(Protocol):
    def post(self, topic: Topic, notice: str) -> None:
        """Queue a notice for the other processes and return immediately. Notices are sent in the order of the calls.
        `notice` is one line of at most `NOTICE_BYTES`."""
        ...

    async def tell(self, topic: Topic, notice: str) -> None:
        """Send a notice, and return after it was sent. Raise `StoreError` if it could not be sent."""
        ...

    def listen(self, topics: Collection[Topic]) -> AbstractAsyncContextManager[AsyncIterator[Sequence[str]]]:
        """Return a context manager whose value yields the notices that other processes send while the `async with`
        block runs. Raise `StoreError` if the connection breaks. Notices are then lost until the next call of
        `listen`."""
        ...
