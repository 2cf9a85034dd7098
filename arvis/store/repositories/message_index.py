"""The search index of messages and its vocabulary, over SQL. SQLite's index does not contain the texts, so the words of
a removed row are computed again. PostgreSQL replaces the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arvis.domain.embeddings import SubjectKind
from arvis.domain.ids import first_id_at, time_of
from arvis.domain.search import RULES, message_words, name_words
from arvis.ports.repositories import Key
from arvis.store.sql.full_text import conversation_key, person_key
from arvis.store.sql.session import Row, dump
from arvis.store.sql.word_index import WordIndex, WordQueries

#: The maximum number of messages that one transaction adds, and the number of characters after which it adds no further
#: message.
_MESSAGES = 50
_CHARACTERS = 50_000
#: If several processes use the database, messages that are up to this time (ms) older than the newest indexed message
#: are read again, because their transactions may have ended later.
OVERLAP_MS = 60_000


class SqlMessageIndex(WordIndex):
    """Implements the port `MessageIndex` with the session of a transaction."""

    _queries = WordQueries(
        state="message_index_state",
        known_words="known_words",
        next_words="next_words",
        add_key="add_key",
        remove_key="remove_key",
        count_postings="count_postings",
        merge="merge_message_index",
        note_purged="note_purged_words",
    )

    def unindexed(self, since: str | None = None) -> Sequence[str]:
        return [row["content"] for row in self._next(self._state(), since)]

    def advance(
        self, words: Mapping[str, Sequence[str]], since: str | None = None, *, keys: Sequence[Key] = ()
    ) -> str | None:
        state = self._state()
        rows = self._next(state, since)
        if keys:
            self._add_keys(keys)
        if rows:
            documents = [self._document(row, words.get(row["content"])) for row in rows]
            self._session.execute_many("add_message_words", documents)
            last = max(state["message_id"], rows[-1]["id"]) if self._session.locks_rows else rows[-1]["id"]
            self._move(max(state["position"], rows[-1]["number"]), last)
            self._merge_pages()
        return rows[-1]["id"] if rows else None

    def is_outdated(self) -> bool:
        state = self._state()
        if state["rules"] != RULES:
            return True
        if self._session.locks_rows or state["position"] == 0:
            return False
        # The rowids change if another program rewrites the whole table, for example with VACUUM.
        at = self._session.one("message_at_position", position=state["position"])
        return at is None or at["id"] != state["message_id"]

    def clear(self) -> None:
        self._session.execute("clear_message_index")
        self._session.execute("clear_vocabulary")
        self._move(0, "")

    def replace(self, message_id: str, content: str) -> None:
        """Replace the indexed words of a message by the words of `content`, and delete the vector of the message. The
        caller then stores `content` as the text of the message."""
        self._session.execute("drop_vectors", kind=SubjectKind.MESSAGE, ids=dump([message_id]))
        row = self._session.one("indexed_message", id=message_id)
        if row is not None:
            self._put([row], message_words(content))

    def empty(self, compaction_id: str) -> None:
        """Remove the words and vectors of the messages that this summary replaces. The caller then deletes the texts of
        these messages."""
        self._session.execute("drop_vectors_of_summary", compaction_id=compaction_id)
        self._put(self._session.rows("indexed_messages_of_summary", compaction_id=compaction_id), ())

    def empty_version(self, version_id: str) -> None:
        """Remove the words and vectors of the texts of an inactive version. The caller deletes the texts afterwards."""
        self._session.execute("drop_vectors_of_version", version_id=version_id)
        self._put(self._session.rows("indexed_messages_of_version", version_id=version_id), ())

    def remove(self, message_ids: Sequence[str]) -> None:
        """Remove these messages and their vectors from the index. The caller then deletes the messages. A question must
        not be deleted before its replies, because the words of a reply include the key of the person who asked."""
        ids = dump(list(message_ids))
        self._session.execute("drop_vectors", kind=SubjectKind.MESSAGE, ids=ids)
        if self._session.locks_rows:
            self._session.execute("erase_message_words", ids=ids)
        else:
            rows = self._session.rows("indexed_messages_of", ids=ids)
            self._session.execute_many("remove_message_words", [self._document(row) for row in rows])
        self._session.execute("note_erased_words")

    def take_out(self, message_ids: Sequence[str]) -> Sequence[str]:
        """Remove the words of these messages from the index. Return the ids of the messages that were in the index. The
        caller then changes the people of the messages, and calls `put_back`."""
        rows = self._session.rows("indexed_messages_of", ids=dump(list(message_ids))) if message_ids else ()
        if not self._session.locks_rows:
            self._session.execute_many("remove_message_words", [self._document(row) for row in rows])
        return [row["id"] for row in rows]

    def put_back(self, message_ids: Sequence[str]) -> None:
        rows = self._session.rows("indexed_messages_of", ids=dump(list(message_ids))) if message_ids else ()
        query = "put_message_words" if self._session.locks_rows else "add_message_words"
        self._session.execute_many(query, [self._document(row) for row in rows])

    def step_back(self) -> None:
        """Move the position back to the newest indexed message that still exists. Otherwise a new message that gets the
        row number of a deleted message would count as indexed."""
        state = self._state()
        if self._session.locks_rows or state["position"] == 0:
            return
        left = self._session.one("newest_at_position", position=state["position"])
        if left is None or left["id"] != state["message_id"]:
            self._move(left["number"] if left else 0, left["id"] if left else "")

    def _put(self, rows: Sequence[Row], words: Sequence[str]) -> None:
        """Replace the indexed words of these messages by `words`."""
        if self._session.locks_rows:
            self._session.execute_many("put_message_words", [self._document(row, words) for row in rows])
        elif rows:
            self._session.execute_many("remove_message_words", [self._document(row) for row in rows])
            self._session.execute_many("add_message_words", [self._document(row, words) for row in rows])
        if rows:
            self._add_keys(self.new_keys({*words}))
            self._session.execute("note_erased_words")

    def _move(self, position: int, message_id: str) -> None:
        self._session.execute("move_message_index", rules=RULES, position=position, message_id=message_id)

    def _next(self, state: Row, since: str | None) -> Sequence[Row]:
        after = indexed_before(state["message_id"]) if since is None else since
        rows = self._session.rows("unindexed_messages", position=state["position"], after=after, limit=_MESSAGES)
        taken, characters = 0, 0
        while taken < len(rows) and characters < _CHARACTERS:
            characters += len(rows[taken]["content"])
            taken += 1
        return rows[:taken]

    def _document(self, row: Row, words: Sequence[str] | None = None) -> dict[str, object]:
        """Return the parameters for a row of the index. Without `words`, compute the words of the stored text."""
        named = name_words((row["user_name"], row["channel"]))
        people = {row["principal_id"], row["asked_by"]} - {None}
        keys = [person_key(each) for each in sorted(people)]
        if row["conversation_id"] is not None:
            keys.append(conversation_key(row["conversation_id"]))
        text = message_words(row["content"]) if words is None else words
        document = self._session.full_text.document([*keys, *named, *text])
        return {"number": row["number"], "id": row["id"], "words": document}


def indexed_before(message_id: str) -> str:
    """Return an id below which the index contains every message, even if several processes use the database.
    `message_id` is the newest indexed message."""
    return first_id_at(time_of(message_id) - OVERLAP_MS) if message_id else ""
