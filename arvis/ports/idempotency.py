"""The repository of writes that named an `Idempotency-Key`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

#: How long a key is known (in ms).
KEPT_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """One write under its key. `request` and `content` are sealed: a fingerprint of what was asked, and the answer.
    Without a `status` it is still being done, or was cut short. `created_at` is when it was begun (ms)."""

    request: str
    status: int | None
    content: str | None
    created_at: int


class IdempotencyKeys(Protocol):
    """Keys belong to who asked: two askers may use the same one."""

    def reserve(self, asker: str, key: str, request: str, *, before: int, now: int) -> KeyedRequest | None:
        """None: it is the caller's now. Otherwise what has it; what was begun before `before` (ms) has lost it."""
        ...

    def take_over(self, asker: str, key: str, begun_at: int, now: int) -> bool:
        """Begin again what was begun then and never ended; whether the caller was the first to do so."""
        ...

    def finish(self, asker: str, key: str, status: int, content: str) -> None: ...

    def release(self, asker: str, key: str) -> None:
        """What was begun has changed nothing: the key is free again."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete at most `limit` that were begun before this time; how many it were."""
        ...
