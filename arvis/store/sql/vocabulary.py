"""The vocabulary of the search index: its different words, each under several keys that find similar words. The keys
are the word itself, its stems, and the word backwards. Numbers and words of scripts without spaces have no keys,
because they have no stems and no typing errors that a comparison of letters would find."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from arvis.domain.dataclass import dataclass
from arvis.store.sql.stems import stems_of

#: The first character of a key that contains the word backwards. No word begins with it.
_BACKWARDS = "<"
#: Words with fewer than `_CORRECTED` letters are not corrected, because most of them are similar to other words. Words
#: with at least `_LONG` letters may contain two errors.
_CORRECTED, _LONG = 5, 8
#: The minimum length of a common beginning. Words with different meanings often share a shorter beginning.
_DISTINCT = 4
_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Range:
    """The keys from `first` on that sort before `last`."""

    first: str
    last: str


def has_keys(word: str) -> bool:
    return bool(stems_of(word))


def keys_of(word: str) -> Sequence[str]:
    """Return the different keys of a word for which `has_keys` is true."""
    return [*dict.fromkeys((word, *stems_of(word), backwards(word)))]


def backwards(word: str) -> str:
    """Return the key with the word backwards."""
    return _BACKWARDS + word[::-1]


def word_of(key: str) -> str:
    """Return the word of a key that is the word itself or the word backwards."""
    return key[:0:-1] if key.startswith(_BACKWARDS) else key


def common_beginning(word: str, languages: Collection[str]) -> str | None:
    """Return the beginning that most words with the same stem as this word share: the shortest common beginning of the
    word and one of its stems. Return None if the beginning has too few letters, or if the word has no stem."""
    common = (_common(word, stem) for stem in stems_of(word, languages))
    # The stemmers of some languages also change the beginning of a word.
    return min((letters for letters in common if len(letters) >= _DISTINCT), key=len, default=None)


def _common(one: str, other: str) -> str:
    """Return the common beginning of both words."""
    return one[
        : next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other))
    ]


def beginning_with(word: str) -> Range:
    return Range(word, word + _AFTER_ALL)


def near_ranges(word: str) -> Sequence[Range]:
    """Return the ranges of keys of all words that have the same first half or the same last half as this word. These
    words include the correct word, because one typing error leaves one half unchanged. Return no ranges if the word is
    too short."""
    if len(word) < _CORRECTED:
        return ()
    half = (len(word) - 1) // 2
    return [beginning_with(word[:half]), beginning_with(backwards(word[-half:]))]


def nearest(word: str, others: Iterable[str]) -> list[str]:
    """Return the words of `others` that differ least from this word, if the difference is small enough for typing
    errors."""
    most = 2 if len(word) >= _LONG else 1
    by_errors = dict[int, list[str]]()
    for other in dict.fromkeys(others):
        if abs(len(other) - len(word)) <= most and (errors := _errors(word, other)) <= most:
            by_errors.setdefault(errors, []).append(other)
    return by_errors[min(by_errors)] if by_errors else []


def _errors(one: str, other: str) -> int:
    """Return the minimum number of letters to insert, remove, replace or exchange with a neighbour to make both words
    equal."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, against in enumerate(other, start=1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != against))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]
