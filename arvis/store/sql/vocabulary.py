"""The different words of the search index, by keys with which similar words are found: the word itself, its stems, and
the word backwards. Numbers and words of scripts without spaces have no keys, because they have no stems and no typing
errors that a comparison of letters would find."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from arvis.domain.dataclass import dataclass
from arvis.store.sql.stems import stems_of

#: The first character of a key that contains the word backwards. No word begins with it.
_BACKWARDS = "<"
#: Shorter words are not corrected, because most of them are similar to other words. Words with at least `_LONG` letters
#: may contain two errors.
_CORRECTED, _LONG = 5, 8
#: A shorter beginning also begins words with other meanings.
_DISTINCT = 4
_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Range:
    """The keys from `first` up to `last`, which is not included."""

    first: str
    last: str


def has_keys(word: str) -> bool:
    return bool(stems_of(word))


def keys_of(word: str) -> Sequence[str]:
    """Return the keys of a word for which `has_keys` is true, each once."""
    return [*dict.fromkeys((word, *stems_of(word), _BACKWARDS + word[::-1]))]


def common_beginning(word: str, languages: Collection[str]) -> str | None:
    """Return the beginning that most words with the same stem as this word share: the shortest common beginning of the
    word and one of its stems. Return None if it has too few letters, or if the word has no stem."""
    common = (_common(word, stem) for stem in stems_of(word, languages))
    # The stemmers of some languages remove the beginning of a word.
    return min((letters for letters in common if len(letters) >= _DISTINCT), key=len, default=None)


def _common(one: str, other: str) -> str:
    """Return the letters with which both words begin."""
    return one[
        : next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other))
    ]


def beginning_with(word: str) -> Range:
    return Range(word, word + _AFTER_ALL)


def near_ranges(word: str) -> Sequence[Range]:
    """Return the keys of all words that begin or end as this word does; none if the word is too short. They include the
    correct word, because one typing error leaves the half before or after the middle unchanged."""
    if len(word) < _CORRECTED:
        return ()
    half = (len(word) - 1) // 2
    return [beginning_with(word[:half]), beginning_with(_BACKWARDS + word[-half:][::-1])]


def nearest(word: str, others: Iterable[str]) -> list[str]:
    """Return those of the other words that differ from this word in the fewest letters, if these are few enough for a
    typing error."""
    most = 2 if len(word) >= _LONG else 1
    by_errors = dict[int, list[str]]()
    for other in dict.fromkeys(others):
        if abs(len(other) - len(word)) <= most and (errors := _errors(word, other)) <= most:
            by_errors.setdefault(errors, []).append(other)
    return by_errors[min(by_errors)] if by_errors else []


def _errors(one: str, other: str) -> int:
    """Return the number of letters to insert, remove, replace or exchange with their neighbour."""
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
