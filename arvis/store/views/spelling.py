"""The spellings of the words of a question in messages: words with the same stem, longer words, and corrected words."""

from __future__ import annotations

import json
from collections.abc import Collection

from arvis.domain.search import SHORTEST_BEGINNING, Question
from arvis.store.sql.session import Snapshot
from arvis.store.sql.stems import LONGEST, is_spelling, stems_of
from arvis.store.sql.vocabulary import Range, beginning_with, has_keys, near_ranges, nearest

#: The maximum number of spellings of a word.
_SPELLINGS = 24
#: The maximum number of words of messages with which a word is compared that no message contains.
_COMPARED = 1_000


async def spellings_of(snapshot: Snapshot, question: Question, more: Collection[str]) -> list[frozenset[str]]:
    """Return the spellings of each word of a question: the word itself, and the words of messages with the same stem. If no
    message has one of them, return the words that begin with it, or else those that differ from it by a typing error.
    `more` are words of messages that are not in the index."""
    keys = {key for word in question.words for key in (word, *stems_of(word, question.languages))}
    rows = await snapshot.rows("words_with_keys", keys=json.dumps(sorted(keys)))
    known = {row["word"] for row in rows} | {*more}
    return [await _spellings(snapshot, word, known, more, question.languages) for word in question.words]


async def _spellings(
    snapshot: Snapshot, word: str, known: Collection[str], more: Collection[str], languages: Collection[str]
) -> frozenset[str]:
    same = {other for other in known if is_spelling(word, other, languages)}
    if same or not has_keys(word):
        return _nearest_in_length(word, same)
    longer = await _words_in(snapshot, beginning_with(word), len(word), LONGEST)
    longer |= {other for other in more if other.startswith(word)}
    if longer and len(word) >= SHORTEST_BEGINNING:
        return _nearest_in_length(word, longer)
    ranges = near_ranges(word)
    near = {*more} if ranges else set[str]()
    for keys in ranges:
        near |= await _words_in(snapshot, keys, len(word) - 2, len(word) + 2)
    return _nearest_in_length(word, nearest(word, near))


def _nearest_in_length(word: str, others: Collection[str]) -> frozenset[str]:
    """Return the word and those of the others that are nearest to it in length."""
    return frozenset([word, *sorted(others, key=lambda other: (abs(len(other) - len(word)), other))[:_SPELLINGS]])


async def _words_in(snapshot: Snapshot, keys: Range, shortest: int, longest: int) -> set[str]:
    rows = await snapshot.rows(
        "words_in_range", first=keys.first, last=keys.last, shortest=shortest, longest=longest, most=_COMPARED
    )
    return {row["word"] for row in rows}
