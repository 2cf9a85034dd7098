"""Repositories of API requests that clients may repeat or continue: writes with an `Idempotency-Key`, and requests to
`/v1`."""

from __future__ import annotations

from typing import Protocol

from arvis.domain.dataclass import dataclass

#: The time (ms) for which an `Idempotency-Key` is remembered.
KEYS_KEPT_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """One write with an `Idempotency-Key`."""

    #: The sealed fingerprint of the request.
    request: str
    #: The status of the answer; None if the write has not ended, or was interrupted.
    status: int | None
    #: The sealed answer.
    content: str | None
    #: The time (ms) at which the write began.
    created_at: int


class IdempotencyKeys(Protocol):
    """The keys of writes. They are separate for each client (`asker`): two clients may use the same key."""

    def reserve(self, asker: str, key: str, request: str, *, before: int, now: int) -> KeyedRequest | None:
        """Delete a write with this key if it began before `before` (ms). If a newer write has the key, return that
        write. Otherwise reserve the key and return None."""
        ...

    def take_over(self, asker: str, key: str, begun_at: int, now: int) -> bool:
        """Take over an interrupted write that began at `begun_at` (ms). Return False if another caller has already
        taken it over, or if the write has ended."""
        ...

    def finish(self, asker: str, key: str, status: int, content: str) -> None: ...

    def release(self, asker: str, key: str) -> None:
        """Free the key of a write that changed nothing, so that the client may use it again."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete at most `limit` writes that began before this time; return their number."""
        ...


#: The time (ms) for which a request to `/v1` is remembered. A request that comes after this time begins a new
#: conversation, with its whole transcript as text.
REQUESTS_KEPT_MS = 90 * 86_400_000


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request to `/v1`. Times in ms."""

    id: str
    #: The client, and the conversation that the client named. Requests are compared only within one scope.
    scope: str
    #: The hash of the whole request.
    request: str
    #: The hash of the transcript up to the question, without system texts.
    talk: str
    #: The hash of the system texts.
    system: str
    #: The id of the conversation to which the request belongs.
    thread: str
    #: The number of the request in its `thread`.
    position: int
    created_at: int
    #: The request's `Idempotency-Key`; None if the request has no key.
    key: str | None = None
    #: The hash of the answer; None: no answer was sent.
    answer: str | None = None
    #: The time at which the client disconnected before it had an answer; None if this has not happened.
    disconnected_at: int | None = None


class CompletionRequests(Protocol):
    def add(self, request: CompletionRequest) -> bool:
        """Add a request; return False if a request with the same `Idempotency-Key` exists."""
        ...

    def drop(self, request_id: str) -> None:
        """Delete a request that had no result, so that its repetition counts as a new request."""
        ...

    def by_key(self, scope: str, key: str) -> CompletionRequest | None: ...

    def by_request(self, scope: str, request: str, since: int) -> CompletionRequest | None:
        """Return the newest request with this hash that was created at `since` (ms) or later."""
        ...

    def by_talk(self, scope: str, talk: str, answer: str) -> CompletionRequest | None:
        """Return the newest request whose transcript and answer have these hashes and which is the last request of its
        thread."""
        ...

    def newest(self, scope: str, thread: str) -> CompletionRequest | None: ...

    def answered(self, request_id: str, answer: str) -> None: ...

    def left(self, request_id: str, now: int) -> None:
        """Store that the client disconnected; change nothing if the answer was already sent."""
        ...

    def prune(self, before: int, limit: int) -> int: ...
