"""Repositories of data that a conversation keeps between turns, besides its messages (behaviour.md 2.9, 5.4).

It is written only in commits of the turn that holds the conversation's lane: the lease of the lane is the lock, its
claim the fence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class HandoverThreads(Protocol):
    """Small JSON objects by name, such as the thread of a helper."""

    def get(self, conversation_id: str, name: str) -> Mapping[str, Any] | None: ...

    def put(self, conversation_id: str, name: str, data: Mapping[str, Any], now: int) -> None: ...

    def names(self, conversation_id: str) -> list[str]: ...

    def drop_all(self, conversation_id: str) -> None: ...


class PluginAdditions(Protocol):
    """Additions of plugins to messages that the history keeps (`context.retention.Kept` as JSON)."""

    def put(self, message_id: str, conversation_id: str, data: Mapping[str, Any]) -> None: ...

    def of(self, conversation_id: str, limit: int) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the additions of the newest messages that have some, by the id of the message, newest first."""
        ...

    def drop(self, message_id: str) -> None: ...

    def drop_all(self, conversation_id: str) -> None: ...
