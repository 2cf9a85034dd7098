"""Notices between the processes that share a database. A notice may be lost: the database carries duty."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

#: What a notice may be long, in bytes of UTF-8.
NOTICE_BYTES = 7_000


class Topic(StrEnum):
    """Who wants to hear: those who serve chats, or those who run jobs."""

    CHAT = "chat"
    JOBS = "jobs"


class Relay(Protocol):
    def post(self, topic: Topic, notice: str) -> None:
        """Tell the other processes soon, in the order of the calls. `notice` is one line of at most `NOTICE_BYTES`."""
        ...

    async def tell(self, topic: Topic, notice: str) -> None:
        """The same, and returns once they were told; raises `StoreError` when they could not be."""
        ...

    def listen(self, topics: Collection[Topic]) -> AbstractAsyncContextManager[AsyncIterator[Sequence[str]]]:
        """The notices of other processes from the moment on that the block is entered, for as long as the connection
        lasts. Raises `StoreError` when it breaks; what was said in between is lost."""
        ...
