"""Repositories of API requests that may be repeated or continued: writes with an `Idempotency-Key`, and requests of
`/v1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

#: The time for which a key is remembered (in ms).
KEYS_KEPT_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """One write under its key. `request` and `content` are sealed: a fingerprint of the request, and the answer.
    Without a `status` the write is under way, or was interrupted. `created_at` is when it began (ms)."""

    request: str
    status: int | None
    content: str | None
    created_at: int


class IdempotencyKeys(Protocol):
    """Keys belong to the asker: two askers may use the same key."""

    def reserve(self, asker: str, key: str, request: str, *, before: int, now: int) -> KeyedRequest | None:
        """Reserve a key for the caller and return None; otherwise return the write that holds the key. A write that
        began before `before` (ms) and has not ended loses its key."""
        ...

    def take_over(self, asker: str, key: str, begun_at: int, now: int) -> bool:
        """Take over a write that began at this time and never ended; return whether the caller was the first to do
        so."""
        ...

    def finish(self, asker: str, key: str, status: int, content: str) -> None: ...

    def release(self, asker: str, key: str) -> None:
        """Free the key of a write that changed nothing."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete at most `limit` writes that began before this time; return their number."""
        ...


#: The time for which a request is remembered (ms). A request that continues a conversation later is treated as new text with
#: its history.
REQUESTS_KEPT_MS = 90 * 86_400_000


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request of `/v1`. Times in ms."""

    id: str
    #: The owner and the named conversation.
    scope: str
    #: The hash of the whole request.
    request: str
    #: The hash of the transcript up to the question, without system texts.
    talk: str
    #: The hash of the system texts.
    system: str
    #: Identifies the conversation.
    thread: str
    #: Counts the requests of `thread`.
    position: int
    created_at: int
    #: The `Idempotency-Key`.
    key: str | None = None
    #: The hash of the answer that was sent.
    answer: str | None = None
    #: When the client disconnected without an answer.
    disconnected_at: int | None = None


class CompletionRequests(Protocol):
    def add(self, request: CompletionRequest) -> bool:
        """Add a request; return False if another one with this key was faster."""
        ...

    def drop(self, request_id: str) -> None:
        """Delete a request that had no result, as if it had never been sent."""
        ...

    def by_key(self, scope: str, key: str) -> CompletionRequest | None: ...

    def by_request(self, scope: str, request: str, since: int) -> CompletionRequest | None:
        """Return the newest request with the same content, not before `since`."""
        ...

    def by_talk(self, scope: str, talk: str, answer: str) -> CompletionRequest | None:
        """Return the newest request whose transcript and answer match and whose conversation has not continued since."""
        ...

    def newest(self, scope: str, thread: str) -> CompletionRequest | None: ...

    def answered(self, request_id: str, answer: str) -> None: ...

    def left(self, request_id: str, now: int) -> None:
        """Note that the client disconnected; changes nothing if the answer was sent."""
        ...

    def prune(self, before: int, limit: int) -> int: ...
