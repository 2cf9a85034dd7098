"""The compaction part of scripted insights: plain containers that a test fills."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.conversations import Compaction
from arvis.domain.messages import PastMessage
from arvis.ports.pages import Page


class NoCompactions:
    async def compaction(self, compaction_id: str) -> Compaction | None:
        return None

    async def compactions(self, conversation_id: str, *, limit: int, cursor: str | None) -> Page[Compaction]:
        return Page((), None)

    async def compacted_messages(self, compaction_id: str) -> Sequence[PastMessage]:
        return ()
