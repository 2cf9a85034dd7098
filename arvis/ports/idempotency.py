"""The repository of writes that named an `Idempotency-Key`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

#: The time for which a key is remembered (in ms).
KEPT_MS = 86_400_000


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
