"""Compares two facts: the same, an update, or different (behaviour.md 1.7, "Rule").

Facts are near if few letters differ or most words agree. Near facts are the same only if nothing important differs:
numbers, dates, quoted names and negations agree, the new one adds no word, and the words have the same order. So an
update is never taken for a repetition, which would lose it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass

from arvis.domain.memory import words_of

#: Letters of the longer text that may differ; its length that may differ.
_NEAR = 0.15
_LENGTHS = 0.30
#: The part of the smaller word set that must be in the other one, and the least size of the set.
_OVERLAP = 0.70
_ENOUGH = 4
#: Longer texts are near only when they are equal.
_LONG = 500
#: From this length a word may differ by a quarter of its letters and still count as the same, misspelt or inflected.
_SPELT = 4
_MISSPELT = 0.25


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
#: Every kind of quotation marks becomes one of two.
_QUOTES = {0x60: '"', 0xAB: '"', 0xBB: '"', 0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x201E: '"'}
_QUOTED = re.compile(r"\"([^\"]{1,80})\"|(?<!\w)'([^']{1,80})'(?!\w)")
_DATES = _listed(
    """
    monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday
    january february march april may june july august september october november december
    """
)
_DENIALS = _listed(
    """
    not no never none neither nor without cannot nothing nobody nicht kein keine keinen nie niemals ohne
    ne pas jamais sans nunca jamás sin não sem non mai senza не нет никогда без ليس لا नहीं मत
    """
)
_DENSE_DENIAL = re.compile("[不没沒無无未别勿非]|ない|ません|안 |않|못|없|ไม่")
#: Words that add no meaning.
_EMPTY = _listed("a an the is user s")


@dataclass(frozen=True, slots=True)
class Wording:
    """A fact prepared for comparison: folded, with its words as people see them."""

    content: str
    text: str
    seen: frozenset[str]

    @classmethod
    def of(cls, content: str) -> Wording:
        text = " ".join(unicodedata.normalize("NFKC", content).casefold().translate(_QUOTES).split())
        return cls(content, text, frozenset(filter(None, (word.strip(".,;:!?\"'()[]") for word in text.split()))))


@dataclass(frozen=True, slots=True)
class Similarity:
    """`same`: the new fact adds nothing to the old one. `differing` is the part of the letters that differ."""

    same: bool
    differing: float


def similarity(new: Wording, old: Wording) -> Similarity | None:
    """Return the similarity, or None for different subjects."""
    if new.text == old.text:
        return Similarity(same=True, differing=0.0)
    longer = max(len(new.text), len(old.text))
    if longer > _LONG or abs(len(new.text) - len(old.text)) > _LENGTHS * longer:
        return None
    if _mostly_the_same_words(new.seen, old.seen):
        return Similarity(same=_says_the_same(new, old), differing=distance(new.text, old.text) / longer)
    if not _may_be_near(new.text, old.text):
        return None
    differing = distance(new.text, old.text, most=int(_NEAR * longer)) / longer
    return Similarity(same=_says_the_same(new, old), differing=differing) if differing < _NEAR else None


def distance(one: str, other: str, *, most: int = _LONG) -> int:
    """Letters to insert, remove or replace to make one text of the other (Levenshtein); where they are more than `most`,
    any number above it.

    Hyyrö's way (2003): a column of the table is two numbers, whose bits say where it goes up or down by one from one row
    to the next. So a column costs a dozen operations on whole numbers, however long the text is.
    """
    one, other = _what_differs(one, other)
    if not one:
        return len(other)
    places: defaultdict[str, int] = defaultdict(int)
    for index, letter in enumerate(one):
        places[letter] |= 1 << index
    all_rows, last_row = (1 << len(one)) - 1, 1 << len(one) - 1
    up, down, found = all_rows, 0, len(one)
    for left, letter in zip(range(len(other) - 1, -1, -1), other, strict=True):
        equal = places.get(letter, 0) | down
        level = ((equal & up) + up ^ up) | equal
        rise, fall = (down | ~(up | level)) & all_rows, up & level
        found += bool(rise & last_row) - bool(fall & last_row)
        if found - left > most:  # each letter that is left can make it one less
            return found
        rise, fall = rise << 1 | 1, fall << 1
        up, down = (fall | ~(level | rise)) & all_rows, rise & level & all_rows
    return found


def _what_differs(one: str, other: str) -> tuple[str, str]:
    """Return the texts without the letters that both begin and end with."""
    start = _equal_letters(one, other)
    one, other = one[start:], other[start:]
    end = _equal_letters(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _equal_letters(one: str, other: str) -> int:
    """Return the number of equal letters at the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (letter, counterpart) in pairs if letter != counterpart), min(len(one), len(other)))


def _mostly_the_same_words(new: frozenset[str], old: frozenset[str]) -> bool:
    smaller = min(len(new), len(old))
    return smaller >= _ENOUGH and len(new & old) > _OVERLAP * smaller


def _may_be_near(new: str, old: str) -> bool:
    """Return False quickly for distant texts: with so few changes one of these pieces of the text would be unchanged."""
    pieces = int(_NEAR * max(len(new), len(old))) + 1
    size = len(new) // pieces
    return size == 0 or any(new[start : start + size] in old for start in range(0, size * pieces, size))


def _says_the_same(new: Wording, old: Wording) -> bool:
    if _marks(new) != _marks(old):
        return False
    new_words, old_words = words_of(new.content), words_of(old.content)
    known = set(old_words)
    if any(word not in known and not _is_known(word, new, old) for word in new_words):
        return False
    shared = known & set(new_words) - _EMPTY
    return [word for word in new_words if word in shared] == [word for word in old_words if word in shared]


def _is_known(word: str, new: Wording, old: Wording) -> bool:
    """Return whether a word that the old fact lacks adds no meaning. A name that differs in a letter is another name."""
    if word in _EMPTY:
        return True
    if len(word) < _SPELT or word not in new.content:
        return False
    near = (other for other in old.seen if other in old.content and len(other) >= _SPELT - 1)
    return any(distance(word, other) <= _MISSPELT * max(len(word), len(other)) for other in near)


def _marks(wording: Wording) -> tuple[list[str], set[str], list[str], bool]:
    """Return the deciding marks: numbers in their order, dates, quoted names, and negation."""
    quoted = [one or other for one, other in _QUOTED.findall(wording.text)]
    denied = bool(wording.seen & _DENIALS or "n't" in wording.text or _DENSE_DENIAL.search(wording.text))
    return _NUMBER.findall(wording.text), set(wording.seen & _DATES), quoted, denied
