"""Stems of words. Words with the same stem in a language, such as `paint` and `painted`, mean the same in a search."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Protocol

from arvis.domain.regex import regex

#: The algorithms by the code of the language, as in `domain.stop_words`.
_LATIN = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
}
_CYRILLIC = {"ru": "russian"}
_FIRST_CYRILLIC, _LAST_CYRILLIC = "\N{CYRILLIC SMALL LETTER A}", "\N{CYRILLIC SMALL LETTER YA}"
_ALGORITHMS = _LATIN | _CYRILLIC
#: The minimum and maximum length of words that have a stem.
SHORTEST, LONGEST = 3, 24
#: The number of cached stems. Computing a stem takes about 50 µs, and most words of a conversation occur again.
_HELD = 50_000
#: Words with the same stem count as spellings of one word only if this number of their first letters are equal.
COMMON = 3
#: A final `и` after a vowel, which was `й` before `domain.search` replaced it. The stemmer needs the original letter.
_SHORT_I = regex("(?<=[аеиоуыэюя])и$")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 the name of the library


def stems_of(word: str, languages: Collection[str] = _ALGORITHMS.keys()) -> Sequence[str]:
    """Return the stems of a word of `domain.search`: one for each of these languages that uses the script of the word.
    Return an empty list if the word is too short or too long, or contains other characters than letters."""
    if not (SHORTEST <= len(word) <= LONGEST and word.isalpha()):
        return ()
    codes = _LATIN if word.isascii() else _CYRILLIC if _FIRST_CYRILLIC <= word[0] <= _LAST_CYRILLIC else {}
    return [_stem(word, code) for code in codes if code in languages]


def share_stem(one: str, other: str, languages: Collection[str]) -> bool:
    """Return whether both words have the same stem in one of these languages."""
    return any(a == b for a, b in zip(stems_of(one, languages), stems_of(other, languages), strict=False))


def is_spelling(word: str, other: str, languages: Collection[str]) -> bool:
    """Return whether the word `other` means the same as `word` in a search."""
    return word == other or (word[:COMMON] == other[:COMMON] and share_stem(word, other, languages))


@lru_cache(_HELD)
def _stem(word: str, language: str) -> str:
    stem = _stemmers.of(language).stemWord(_SHORT_I.sub("й", word) if language in _CYRILLIC else word)
    return stem.replace("й", "и")


class _Stemmers(threading.local):
    """The stemmers of a thread. Threads cannot share a stemmer, because it stores the word that it processes."""

    def __init__(self) -> None:
        self._made: dict[str, _Stemmer] = {}

    def of(self, language: str) -> _Stemmer:
        if language not in self._made:
            # An idle daemon does not need the library, whose languages take 18 ms and 3 MB.
            import snowballstemmer  # noqa: PLC0415

            self._made[language] = snowballstemmer.stemmer(_ALGORITHMS[language])
        return self._made[language]


_stemmers = _Stemmers()
