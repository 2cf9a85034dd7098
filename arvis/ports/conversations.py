"""Repositories of data that a conversation keeps besides its messages: summaries, calibrations of token estimates,
handover threads and additions of plugins.

The last two are written only in commits of the turn that holds the conversation's lane: the lease of the lane is the lock, its
claim the fence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.conversations import Compaction
from arvis.domain.messages import PastMessage
from arvis.ports.pages import Page


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


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a conversation in prompts: messages of ended turns in no summary."""

    messages: int
    tokens: int


class Compactions(Protocol):
    def size(self, conversation_id: str) -> Size:
        """Count from the rows, never from a running sum (reliability.md H18)."""
        ...

    def oldest(self, conversation_id: str, limit: int) -> list[PastMessage]:
        """Return the first messages of ended turns that are in no summary, in order."""
        ...

    def add(self, compaction: Compaction, message_ids: Sequence[str]) -> bool:
        """Store a summary and remove its messages from the prompts. Return False and change nothing if they are not
        exactly the messages in no summary from its first turn to its last."""
        ...

    def get(self, compaction_id: str) -> Compaction | None: ...

    def summaries(self, conversation_id: str, limit: int) -> list[Compaction]:
        """Return the last summaries that replace messages, in order."""
        ...

    def restore(self, compaction_id: str, now: int) -> int | None:
        """Return the messages of an active summary to the prompts; return their number, or None if the summary is not
        active."""
        ...

    def postpone(self, conversation_id: str, turns: int, *, planned_only: bool = False) -> None:
        """Postpone compaction of this conversation until this many more turns have ended; with `planned_only` only
        compaction that no prompt needs."""
        ...

    def is_postponed(self, conversation_id: str, *, planned: bool) -> bool:
        """Return whether compaction is postponed; `planned`: for compaction that no prompt needs."""
        ...

    def forget(self, before: int, limit: int, now: int) -> int:
        """Delete the message texts behind active summaries older than this time, for up to `limit` summaries; return
        how many summaries are now final."""
        ...


@dataclass(frozen=True, slots=True)
class Calibration:
    """`model` is `provider/model`. `weights` are tokens per character of each script and per message, in the order of
    `arvis.llm.tokens`; `samples` is the number of calls behind them; `most` is the context window, if the vendor
    reported it."""

    model: str
    weights: tuple[float, ...]
    samples: int
    most: int | None = None


class Calibrations(Protocol):
    def all(self) -> list[Calibration]: ...

    def get(self, model: str) -> Calibration | None: ...

    def put(self, calibration: Calibration, now: int) -> None: ...


class CompactionInsights(Protocol):
    async def compaction(self, compaction_id: str) -> Compaction | None: ...

    async def compactions(self, conversation_id: str, *, limit: int, cursor: str | None) -> Page[Compaction]:
        """Return the summaries of one conversation, newest first, of every status."""
        ...

    async def compacted_messages(self, compaction_id: str) -> Sequence[PastMessage]:
        """Return the messages behind a summary, in order."""
        ...
