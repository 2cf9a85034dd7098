"""The spellings of the words of a question in a vocabulary: words with the same stem, longer words, and words that
differ by typing errors (docs/adr/0066)."""

from __future__ import annotations

import json
from collections.abc import Collection

from arvis.domain.search import SHORTEST_BEGINNING, Question
from arvis.store.sql.session import Snapshot
from arvis.store.sql.stems import LONGEST, is_spelling, stems_of
from arvis.store.sql.vocabulary import Range, beginning_with, has_keys, near_ranges, nearest

#: The maximum number of spellings of a word.
_SPELLINGS = 24
#: The maximum number of indexed words with which a word is compared if no text contains it.
_COMPARED = 1_000


class Vocabulary:
    """The words of an index. `with_keys` is the query for words with one of some keys, and `in_range` the query for
    words with a key in a range."""

    def __init__(self, snapshot: Snapshot, *, with_keys: str, in_range: str) -> None:
        self._snapshot = snapshot
        self._with_keys = with_keys
        self._in_range = in_range

    async def spellings_of(self, question: Question, more: Collection[str] = ()) -> list[frozenset[str]]:
        """Return the spellings of each word of a question: the word itself, and the words of texts with the same stem.
        If no text contains such a word, return the words that begin with the word of the question. If there are none of
        these either, return the words that differ from the word of the question by a typing error. `more` are words of
        texts that are not in the index."""
        keys = {key for word in question.words for key in (word, *stems_of(word, question.languages))}
        rows = await self._snapshot.rows(self._with_keys, keys=json.dumps(sorted(keys)))
        known = {row["word"] for row in rows} | {*more}
        return [await self._of_word(word, known, more, question.languages) for word in question.words]

    async def _of_word(
        self, word: str, known: Collection[str], more: Collection[str], languages: Collection[str]
    ) -> frozenset[str]:
        same = {other for other in known if is_spelling(word, other, languages)}
        if same or not has_keys(word):
            return _nearest_in_length(word, same)
        longer = await self._words_in(beginning_with(word), len(word), LONGEST)
        longer |= {other for other in more if other.startswith(word)}
        if longer and len(word) >= SHORTEST_BEGINNING:
            return _nearest_in_length(word, longer)
        ranges = near_ranges(word)
        near = {*more} if ranges else set[str]()
        for keys in ranges:
            near |= await self._words_in(keys, len(word) - 2, len(word) + 2)
        return _nearest_in_length(word, nearest(word, near))

    async def _words_in(self, keys: Range, shortest: int, longest: int) -> set[str]:
        rows = await self._snapshot.rows(
            self._in_range, first=keys.first, last=keys.last, shortest=shortest, longest=longest, most=_COMPARED
        )
        return {row["word"] for row in rows}


def _nearest_in_length(word: str, others: Collection[str]) -> frozenset[str]:
    """Return the word, and the words of `others` whose lengths are closest to its length."""
    return frozenset([word, *sorted(others, key=lambda other: (abs(len(other) - len(word)), other))[:_SPELLINGS]])
