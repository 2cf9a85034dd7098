"""Full-text searches of messages. A search uses the index, and reads the messages that are newer than the index directly.
`SqlInsights` inherits from the class of this module."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import StoredMessage
from arvis.domain.search import Search, terms_of
from arvis.store.repositories.message_index import indexed_before
from arvis.store.repositories.messages import message_of
from arvis.store.sql.session import Row, Snapshot, Snapshots

#: On SQLite, a word that more messages contain finds only itself, not longer words: the index would have to join the lists
#: of all words that it begins before the first message is found.
_COMMON = 5_000
#: The maximum number of messages that are newer than the index and are searched without it.
MOST_UNINDEXED = 2_000
#: The number of matching messages among which the best are chosen. A common word has more; the newest ones count.
_CANDIDATES = 250
#: The numbers of matching messages that a list examines one after the other until its page is full.
_STEPS = (200, 800, 4_000)
#: The number of matching messages whose conversations are found.
_OF_CONVERSATIONS = 2_000


@dataclass(frozen=True, slots=True)
class Matches:
    """Ids of messages that match, newest first, and their conversations. `more` is True if older messages may match,
    too."""

    ids: Sequence[str]
    conversations: Collection[str]
    more: bool


class SqlMessageSearch:
    """Implements the search of `Insights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def search_messages(self, text: str, *, principal_id: str | None, limit: int) -> Sequence[StoredMessage]:
        search = Search(terms_of(text), principal_id=principal_id)
        if not search.terms:
            return []
        async with self._snapshots.snapshot() as snapshot:
            search = await _without_common_beginnings(snapshot, search)
            found = await _best(snapshot, search, limit)
            if not found and len(search.terms) > 1:
                found = await _best(snapshot, replace(search, any_term=True), limit)
        return [message_of(row) for row in found]


async def _best(snapshot: Snapshot, search: Search, limit: int) -> Sequence[Row]:
    """Return the messages that fit best. Those that are newer than the index are first."""
    whose = {"principal_id": search.principal_id}
    unindexed = [row["id"] for row in await _unindexed(snapshot, search, None)]
    ranked = await snapshot.rows(
        "rank_messages", words=snapshot.full_text.query(search), candidates=_CANDIDATES, limit=limit, **whose
    )
    ids = [*unindexed, *(row["id"] for row in ranked)]
    rows = {row["id"]: row for row in await snapshot.rows("readable_messages", ids=json.dumps(ids), **whose)}
    return [rows[each] for each in ids if each in rows][:limit]


async def matching_messages(
    snapshot: Snapshot, search: Search, before: str | None, *, steps: Sequence[int] = ()
) -> AsyncIterator[Matches]:
    """Yield the messages that match, newest first, in lists of growing length. If `before` is the id of a message, only
    older messages are found. The search ends after the last of `steps`, the lengths of the lists."""
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
            # The messages that are not in the index may be older than these, so the next list contains them.
            rows, newest = _parted(rows, found[-1])
        ids = [row["id"] for row in rows]
        places = {row["conversation_id"] for row in rows} - {None}
        yield Matches(ids, places, more=not complete)
        if complete:
            return
        before = ids[-1]


async def conversations_with(snapshot: Snapshot, text: str, principal_id: str | None) -> Sequence[str]:
    """Return the ids of conversations with a message that has these words, or whose writer or channel has them in its
    name. Only the newest matching messages count and, with `principal_id`, only those that this person may see."""
    search = Search(terms_of(text), names=True, principal_id=principal_id)
    async for matches in matching_messages(snapshot, search, None, steps=(_OF_CONVERSATIONS,)):
        if principal_id is None:
            return [*matches.conversations]
        ids = json.dumps(matches.ids)
        rows = await snapshot.rows("conversations_of_messages", ids=ids, principal_id=principal_id)
        return [row["id"] for row in rows]
    return []


async def _without_common_beginnings(snapshot: Snapshot, search: Search) -> Search:
    """Return the search, in which a word that many messages contain finds no longer words."""
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
    """Return the rows up to `last`, and those after it."""
    end = next(place for place, row in enumerate(rows, start=1) if row["id"] == last["id"])
    return rows[:end], rows[end:]


async def _unindexed(snapshot: Snapshot, search: Search, before: str | None) -> Sequence[Row]:
    """Return the matching messages that are newer than the index, newest first."""
    state = (await snapshot.rows("message_index_state"))[0]
    after = indexed_before(state["message_id"])
    rows = await snapshot.rows("newest_unindexed", after=after, before=before, limit=MOST_UNINDEXED)
    return [
        row
        for row in rows
        if (search.principal_id is None or search.principal_id in {row["principal_id"], row["asked_by"]})
        and (search.conversation_id is None or search.conversation_id == row["conversation_id"])
        and search.fits(row["content"], (row["user_name"], row["channel"]))
    ]
