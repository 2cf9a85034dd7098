"""The messages that are newer than the search index."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.store.repositories.message_index import indexed_before
from arvis.store.sql.session import Row, Snapshot

#: The maximum number of messages newer than the index that a search reads directly.
MOST_UNINDEXED = 2_000


async def unindexed_messages(
    snapshot: Snapshot, *, principal_id: str | None, conversation_id: str | None = None, before: str | None = None
) -> Sequence[Row]:
    """Return the messages that are not in the index, newest first. Return only the messages of this person and the
    replies to them, only messages of this conversation, and only messages older than the message `before`. A value of
    None means no limit."""
    state = (await snapshot.rows("message_index_state"))[0]
    after = indexed_before(state["message_id"])
    rows = await snapshot.rows("newest_unindexed", after=after, before=before, limit=MOST_UNINDEXED)
    return [
        row
        for row in rows
        if (principal_id is None or principal_id in {row["principal_id"], row["asked_by"]})
        and (conversation_id is None or conversation_id == row["conversation_id"])
    ]
