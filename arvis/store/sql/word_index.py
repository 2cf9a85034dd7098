"""The vocabulary of a search index, and the removal of erased words from the file of the index. The indexes of messages
and of knowledge bases share this code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from arvis.domain.dataclass import dataclass
from arvis.domain.search import Search, Term
from arvis.store.sql.session import Row, Session, dump
from arvis.store.sql.vocabulary import has_keys, keys_of

#: The maximum number of pages of the index that one transaction merges: after new texts were added, and to remove
#: erased words.
_PAGES = 40
_PURGED_PAGES = 200
#: The number of words of the vocabulary that one transaction checks.
_CHECKED = 200
#: SQLite changes fewer rows than this if a merge had nothing to do.
_NOTHING = 2


@dataclass(frozen=True, slots=True)
class WordQueries:
    """The names of the queries of one index."""

    state: str
    known_words: str
    next_words: str
    add_key: str
    remove_key: str
    count_postings: str
    merge: str
    note_purged: str


class WordIndex:
    """The functions of a search index that do not depend on the kind of the indexed texts."""

    _queries: ClassVar[WordQueries]

    def __init__(self, session: Session) -> None:
        self._session = session

    def new_keys(self, words: Collection[str]) -> Sequence[tuple[str, str]]:
        spelled = sorted(word for word in words if has_keys(word))
        rows = self._session.rows(self._queries.known_words, words=dump(spelled)) if spelled else ()
        known = {row["word"] for row in rows}
        return [(key, word) for word in spelled if word not in known for key in keys_of(word)]

    def erasures(self) -> int | None:
        state = self._state()
        return int(state["erasures"]) if state["erasures"] > state["purged"] else None

    def purge(self, *, begin: bool) -> bool:
        if self._session.locks_rows:
            return False  # PostgreSQL's vacuum removes the words
        before = self._changes()
        self._session.execute(self._queries.merge, pages=-_PURGED_PAGES if begin else _PURGED_PAGES)
        return self._changes() - before >= _NOTHING

    def drop_words(self, after: str) -> str | None:
        rows = self._session.rows(self._queries.next_words, after=after, limit=_CHECKED)
        unused = [row["word"] for row in rows if self._is_unused(row["word"])]
        keys = [{"key": key, "word": word} for word in unused for key in keys_of(word)]
        self._session.execute_many(self._queries.remove_key, keys)
        return rows[-1]["word"] if len(rows) == _CHECKED else None

    def purged(self, erasures: int) -> None:
        self._session.execute(self._queries.note_purged, erasures=erasures)

    def _add_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        self._session.execute_many(self._queries.add_key, [{"key": key, "word": word} for key, word in keys])

    def _merge_pages(self) -> None:
        """Merge some pages after new texts were added. PostgreSQL merges its pages by itself."""
        if not self._session.locks_rows:
            self._session.execute(self._queries.merge, pages=_PAGES)

    def _state(self) -> Row:
        row = self._session.one(self._queries.state)
        assert row is not None  # noqa: S101 a migration adds the row
        return row

    def _is_unused(self, word: str) -> bool:
        words = self._session.full_text.query(Search((Term((word,), begins=False),)))
        row = self._session.one(self._queries.count_postings, words=words, most=1)
        return row is None or row["number"] == 0

    def _changes(self) -> int:
        row = self._session.one("count_changes")
        return int(row["number"]) if row else 0
