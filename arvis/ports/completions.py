"""The repository of requests of `/v1`, by which a request finds the conversation that it goes on with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

#: How long a request is known (ms). What goes on later than that brings its history as text.
KEPT_MS = 90 * 86_400_000


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request. `scope` is whose it is and in which conversation they named it, the hashes are of what was asked (whole; up to
    the question, without system texts; these), `answer` of what was sent. `thread` is the conversation's, `position` counts its requests,
    `key` is the `Idempotency-Key`; `disconnected_at`: when the client went away without an answer. Times are ms."""

    id: str
    scope: str
    request: str
    talk: str
    system: str
    thread: str
    position: int
    created_at: int
    key: str | None = None
    answer: str | None = None
    disconnected_at: int | None = None


class CompletionRequests(Protocol):
    def add(self, request: CompletionRequest) -> bool:
        """False where another one with this key was faster."""
        ...

    def drop(self, request_id: str) -> None:
        """It came to nothing: as if it had never been asked."""
        ...

    def by_key(self, scope: str, key: str) -> CompletionRequest | None: ...

    def by_request(self, scope: str, request: str, since: int) -> CompletionRequest | None:
        """The newest that asked the same, not before `since`."""
        ...

    def by_talk(self, scope: str, talk: str, answer: str) -> CompletionRequest | None:
        """The newest whose conversation has said precisely this and ended with this answer, and has not gone on since."""
        ...

    def newest(self, scope: str, thread: str) -> CompletionRequest | None: ...

    def answered(self, request_id: str, answer: str) -> None: ...

    def left(self, request_id: str, now: int) -> None:
        """The client went away; nothing changes where it has its answer."""
        ...

    def prune(self, before: int, limit: int) -> int: ...
