"""The repository of requests of `/v1`. It finds the conversation that a request continues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

#: The time for which a request is remembered (ms). A request that continues a conversation later is treated as new text with
#: its history.
KEPT_MS = 90 * 86_400_000


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request. `scope` identifies the owner and the named conversation. The hashes cover the whole request; the
    transcript up to the question without system texts; and the system texts. `answer` is the hash of the answer that
    was sent. `thread` belongs to the conversation, `position` counts its requests, `key` is the `Idempotency-Key`;
    `disconnected_at` is when the client disconnected without an answer. Times are ms."""

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
