"""Full-text searches of messages. A search uses the index, and reads the messages that are newer than the index directly.
`SqlInsights` inherits from the class of this module."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning
from arvis.domain.messages import StoredMessage
from arvis.domain.search import Search, terms_of
from arvis.store.repositories.messages import message_of
from arvis.store.sql.session import Row, Snapshot, Snapshots
from arvis.store.views.ranked_search import best_messages
from arvis.store.views.unindexed import unindexed_messages

#: On SQLite, a word that more messages than this contain matches only itself, not longer words. Otherwise the index
#: would have to join the lists of all longer words before it finds the first message.
_COMMON = 5_000
#: The numbers of matching messages that are read one after the other until a page of a list is full.
_STEPS = (200, 800, 4_000)
#: The maximum number of matching messages whose conversations are returned.
_OF_CONVERSATIONS = 2_000


@dataclass(frozen=True, slots=True)
class Matches:
    """The ids of matching messages, newest first, and the ids of their conversations. `more` is True if older messages
    may match, too."""

    ids: Sequence[str]
    conversations: Collection[str]
    more: bool


class SqlMessageSearch:
    """Implements the search of `Insights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def search_messages(
        self, text: str, *, principal_id: str | None, limit: int, meaning: Meaning | None = None
    ) -> Sequence[StoredMessage]:
        async with self._snapshots.snapshot() as snapshot:
            found = await best_messages(snapshot, text, principal_id, limit, meaning)
        return [message_of(row) for row in found]


async def matching_messages(
    snapshot: Snapshot, search: Search, before: str | None, *, steps: Sequence[int] = ()
) -> AsyncIterator[Matches]:
    """Yield the matching messages, newest first, in lists of growing length. If `before` is the id of a message, search
    only older messages. `steps` are the lengths of the lists, and the search ends after the last one."""
    if not search.terms:
        return
    search = await _without_common_beginnings(snapshot, search)
    words = snapshot.full_text.query(search)
    newest: Sequence[Row] = await _unindexed(snapshot, search, before)
    for step in steps or _STEPS:
        found = await snapshot.rows("find_messages", words=words, before=before, limit=step)
        complete = len(found) < step
        rows: Sequence[Row] = sorted((*newest, *found), key=_newest_first, reverse=True)
        if not complete:
            # Unindexed messages that are older than the last found message belong to the next list.
            rows, newest = _parted(rows, found[-1])
        ids = [row["id"] for row in rows]
        places = {row["conversation_id"] for row in rows} - {None}
        yield Matches(ids, places, more=not complete)
        if complete:
            return
        before = ids[-1]


async def conversations_with(snapshot: Snapshot, text: str, principal_id: str | None) -> Sequence[str]:
    """Return the ids of conversations in which a message contains these words, or in which the name of a writer or of
    the channel contains them. Read only the newest matching messages and, with `principal_id`, only the messages that
    this person may see."""
    search = Search(terms_of(text), names=True, principal_id=principal_id)
    async for matches in matching_messages(snapshot, search, None, steps=(_OF_CONVERSATIONS,)):
        if principal_id is None:
            return [*matches.conversations]
        ids = json.dumps(matches.ids)
        rows = await snapshot.rows("conversations_of_messages", ids=ids, principal_id=principal_id)
        return [row["id"] for row in rows]
    return []


async def _without_common_beginnings(snapshot: Snapshot, search: Search) -> Search:
    """Return the search with one change: a word that many messages contain does not match longer words."""
    terms = []
    for term in search.terms:
        exact = replace(term, begins=False)
        if term.begins and len(term.words) == 1:
            words = snapshot.full_text.query(Search((exact,)))
            common = await snapshot.rows("common_words", words=words, most=_COMMON)
            terms.append(exact if common else term)
        else:
            terms.append(term)
    return replace(search, terms=tuple(terms))


def _newest_first(row: Row) -> tuple[int, str]:
    return row["number"], row["id"]


def _parted(rows: Sequence[Row], last: Row) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the rows up to and including `last`, and the rows after it."""
    end = next(place for place, row in enumerate(rows, start=1) if row["id"] == last["id"])
    return rows[:end], rows[end:]


async def _unindexed(snapshot: Snapshot, search: Search, before: str | None) -> Sequence[Row]:
    """Return the matching messages that are newer than the index, newest first."""
    rows = await unindexed_messages(
        snapshot, principal_id=search.principal_id, conversation_id=search.conversation_id, before=before
    )
    return [row for row in rows if search.fits(row["content"], (row["user_name"], row["channel"]))]
