"""The repositories of what becomes of long conversations, and of how models count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.conversations import Compaction
from arvis.domain.messages import PastMessage
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class Size:
    """How much of a conversation stands in its prompts: messages of ended turns in no summary."""

    messages: int
    tokens: int


class Compactions(Protocol):
    def size(self, conversation_id: str) -> Size:
        """Counted from the rows, never from a running sum (reliability.md H18)."""
        ...

    def oldest(self, conversation_id: str, limit: int) -> list[PastMessage]:
        """The first messages of ended turns that are in no summary, in order."""
        ...

    def add(self, compaction: Compaction, message_ids: Sequence[str]) -> bool:
        """Keep a summary and take these messages out of the prompts. False, and nothing is changed, when they are not
        exactly what stands in no summary from its first turn to its last."""
        ...

    def get(self, compaction_id: str) -> Compaction | None: ...

    def summaries(self, conversation_id: str, limit: int) -> list[Compaction]:
        """The last summaries that stand for something, in order."""
        ...

    def restore(self, compaction_id: str, now: int) -> int | None:
        """Bring the messages of an active one back into the prompts, how many; None when it is not active."""
        ...

    def rest(self, conversation_id: str, turns: int, *, planned_only: bool = False) -> None:
        """Compact nothing here before so many more turns have ended; `planned_only`: but where a prompt needs it."""
        ...

    def rests(self, conversation_id: str, *, planned: bool) -> bool:
        """Whether that holds still; `planned`: for a compaction that no prompt waits for."""
        ...

    def forget(self, before: int, limit: int, now: int) -> int:
        """Delete the texts that the active ones made before this time stand for, of up to `limit` of them; how many of
        them are final now."""
        ...


@dataclass(frozen=True, slots=True)
class Calibration:
    """`model` is `provider/model`. `weights` are tokens per character of each script and per message, in the order of
    `arvis.conversations`; `samples` says from how many calls; `most` is the window, if the vendor told it."""

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
        """Of one conversation, newest first, whatever their status."""
        ...

    async def compacted_messages(self, compaction_id: str) -> Sequence[PastMessage]:
        """What a summary stands for, in order."""
        ...
