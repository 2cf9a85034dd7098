"""Pages about what became of long conversations. A base of `SqlInsights`."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.conversations import Compaction
from arvis.domain.messages import PastMessage
from arvis.ports.pages import Page
from arvis.store.compactions import compaction_of
from arvis.store.messages import past_message_of
from arvis.store.snapshots import LAST, Snapshots, page

#: Messages of one summary that are shown: more than any summary stands for.
_SHOWN = 1000


class SqlCompactionInsights:
    """`CompactionInsights` on either database."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def compaction(self, compaction_id: str) -> Compaction | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_compaction", id=compaction_id)
        return compaction_of(rows[0]) if rows else None

    async def compactions(self, conversation_id: str, *, limit: int, cursor: str | None) -> Page[Compaction]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_compactions", conversation_id=conversation_id, before=cursor or LAST, limit=limit + 1
            )
        return page(rows, compaction_of, limit)

    async def compacted_messages(self, compaction_id: str) -> Sequence[PastMessage]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("compacted_messages", compaction_id=compaction_id, limit=_SHOWN)
        return [past_message_of(row) for row in rows]
