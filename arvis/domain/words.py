"""Splits text into search words, identically for both databases and every language (docs/adr/0018).

Words are folded: case and width of letters do not matter, and invisible characters (joiners, soft hyphens) are
removed. In scripts without blanks between words, each letter and each pair of neighbours is a word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from enum import Enum
from itertools import groupby, pairwise

from arvis.domain.text import storable

#: Limits: letters of a text that are indexed, words of a query, letters of a word.
_MOST_TEXT = 4_000
_MOST_ASKED = 64
_MOST_LETTERS = 64

#: Thai and Lao, Myanmar, Hangul, Khmer, kana, Han. Hangul has blanks, but its particles are attached to the preceding
#: word.
_DENSE = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xAC00, 0xD7A3),
    (0x20000, 0x3FFFF),
)
_FIRST_DENSE = _DENSE[0][0]
#: The Arabic tatweel, and variation selectors.
_UNSEEN = frozenset("ـ\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}")
#: Characters besides letters that may end a word: `c++`, `c#`.
_TAIL = "+#"


class _Kind(Enum):
    GAP = 0
    SPELLED = 1
    DENSE = 2


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, with repetitions. `node.js` gives `node`, `js` and `node.js`."""
    return [word for chunk in _folded(text).split() for word in _words(chunk)]


def asked_words(text: str) -> list[str]:
    """Return the words to search for in a query, each once. A single letter of a dense script, which occurs in most
    texts, counts only if it is alone."""
    words = [word for chunk in _folded(text).split() for word in _words(chunk, asked=True)]
    return list(dict.fromkeys(words))[:_MOST_ASKED]


def _folded(text: str) -> str:
    normal = unicodedata.normalize("NFKC", storable(text[:_MOST_TEXT])).casefold()
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", normal) if not _unseen(letter))
    return seen.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _unseen(letter: str) -> bool:
    return not letter.isascii() and (letter in _UNSEEN or unicodedata.category(letter) == "Cf")


def _words(chunk: str, *, asked: bool = False) -> Iterator[str]:
    """Return the words of a text without blanks, and the text itself if it contains more than one word."""
    runs = [(kind, "".join(run)) for kind, run in groupby(chunk, _kind) if kind is not _Kind.GAP]
    for kind, run in runs:
        if kind is _Kind.DENSE:
            yield from _dense_words(run, asked=asked)
        else:
            yield run[:_MOST_LETTERS]
    whole = _trimmed(chunk)
    if len(whole) <= _MOST_LETTERS and runs and all(kind is _Kind.SPELLED and run != whole for kind, run in runs):
        yield whole


def _dense_words(run: str, *, asked: bool) -> Iterator[str]:
    if not asked or len(run) == 1:
        yield from run
    for one, next_one in pairwise(run):
        yield one + next_one


def _trimmed(chunk: str) -> str:
    """Return the word without the quotes, brackets and full stops around it."""
    start, end = 0, len(chunk)
    while start < end and _kind(chunk[start]) is _Kind.GAP:
        start += 1
    while end > start and chunk[end - 1] not in _TAIL and _kind(chunk[end - 1]) is _Kind.GAP:
        end -= 1
    return chunk[start:end]


def _kind(letter: str) -> _Kind:
    if letter.isalnum() and letter < chr(_FIRST_DENSE):
        return _Kind.SPELLED
    if letter.isascii():
        return _Kind.GAP
    category = unicodedata.category(letter)
    if category == "So" or (category != "Zs" and any(first <= ord(letter) <= last for first, last in _DENSE)):
        return _Kind.DENSE
    return _Kind.SPELLED if category[0] in "LNM" and category != "Me" else _Kind.GAP
