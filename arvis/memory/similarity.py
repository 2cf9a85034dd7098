"""The comparison of two facts. The result is that they are different, near, or the same.

Facts are near if few letters differ or most words agree. Near facts are the same only if numbers, dates, quoted names
and negations agree, the new fact adds no word, and the common words have the same order. The test is strict, because an
update that is mistaken for a repetition would be lost.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict

from arvis.domain.dataclass import dataclass
from arvis.domain.memory import words_of
from arvis.domain.regex import regex

#: Two texts are near if the letters that differ are less than this share of the longer text.
_NEAR = 0.15
#: The lengths of near texts differ by at most this share of the longer text.
_LENGTHS = 0.30
#: The words of each text form a set. Texts are also near if more than this share of the smaller set is in the other
#: set, and the smaller set has at least `_ENOUGH` words.
_OVERLAP = 0.70
_ENOUGH = 4
#: Texts of more than this many characters are near only if they are equal.
_LONG = 500
#: A word of at least `_SPELT` letters may differ in a quarter of its letters and still count as the same word, misspelt
#: or inflected.
_SPELT = 4
_MISSPELT = 0.25


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NUMBER = regex(r"\d+(?:[.,:/-]\d+)*")
#: Replaces all kinds of quotation marks by the plain double or single quotation mark.
_QUOTES = {0x60: '"', 0xAB: '"', 0xBB: '"', 0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x201E: '"'}
_QUOTED = regex(r"\"([^\"]{1,80})\"|(?<!\w)'([^']{1,80})'(?!\w)")
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
_DENSE_DENIAL = regex("[不没沒無无未别勿非]|ない|ません|안 |않|못|없|ไม่")
#: Words that add no meaning.
_EMPTY = _listed("a an the is user s")


@dataclass(frozen=True, slots=True)
class Wording:
    """A fact prepared for comparison. `text`: in lower case, with normalised blanks and quotation marks. `seen`: its
    words without punctuation."""

    content: str
    text: str
    seen: frozenset[str]

    @classmethod
    def of(cls, content: str) -> Wording:
        text = " ".join(unicodedata.normalize("NFKC", content).casefold().translate(_QUOTES).split())
        return cls(content, text, frozenset(filter(None, (word.strip(".,;:!?\"'()[]") for word in text.split()))))


@dataclass(frozen=True, slots=True)
class Similarity:
    """The similarity of two near facts. `same`: the new fact adds nothing to the old one. `differing`: the share of
    letters that differ."""

    same: bool
    differing: float


def similarity(new: Wording, old: Wording) -> Similarity | None:
    """Return the similarity of two facts, or None if they are not near."""
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
    """Return the number of letters to insert, remove or replace to turn one text into the other (Levenshtein distance).
    If it is greater than `most`, return any number greater than `most`.

    The algorithm is Hyyrö's (2003). Each column of the distance table is stored in two integers, whose bits mark the
    rows where the distance rises or falls by one. So a column costs a dozen operations, however long the text is.
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
        if found - left > most:  # each remaining letter can lower the distance by at most one
            return found
        rise, fall = rise << 1 | 1, fall << 1
        up, down = (fall | ~(level | rise)) & all_rows, rise & level & all_rows
    return found


def _what_differs(one: str, other: str) -> tuple[str, str]:
    """Return the two texts without their common beginning and their common end."""
    start = _equal_letters(one, other)
    one, other = one[start:], other[start:]
    end = _equal_letters(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _equal_letters(one: str, other: str) -> int:
    """Return the number of equal letters at the beginnings of the two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (letter, counterpart) in pairs if letter != counterpart), min(len(one), len(other)))


def _mostly_the_same_words(new: frozenset[str], old: frozenset[str]) -> bool:
    smaller = min(len(new), len(old))
    return smaller >= _ENOUGH and len(new & old) > _OVERLAP * smaller


def _may_be_near(new: str, old: str) -> bool:
    """Check cheaply, before the exact comparison, if the two texts may be near. False means that they are not near. The
    new text is divided into pieces. Their number is one more than the number of changes that near texts may have, so
    near texts share at least one unchanged piece."""
    pieces = int(_NEAR * max(len(new), len(old))) + 1
    size = len(new) // pieces
    return size == 0 or any(new[start : start + size] in old for start in range(0, size * pieces, size))


def _says_the_same(new: Wording, old: Wording) -> bool:
    if marks(new) != marks(old):
        return False
    new_words, old_words = words_of(new.content), words_of(old.content)
    known = set(old_words)
    if any(word not in known and not _is_known(word, new, old) for word in new_words):
        return False
    shared = known & set(new_words) - _EMPTY
    return [word for word in new_words if word in shared] == [word for word in old_words if word in shared]


def _is_known(word: str, new: Wording, old: Wording) -> bool:
    """Return True if a word that the old fact lacks adds no meaning: it is an empty word, or another spelling or form
    of a word of the old fact. A word with a capital letter never counts as another spelling, because a name that
    differs in one letter is another name."""
    if word in _EMPTY:
        return True
    if len(word) < _SPELT or word not in new.content:
        return False
    near = (other for other in old.seen if other in old.content and len(other) >= _SPELT - 1)
    return any(distance(word, other) <= _MISSPELT * max(len(word), len(other)) for other in near)


def marks(wording: Wording) -> tuple[list[str], set[str], list[str], bool]:
    """Return the parts that must agree in facts that are the same: numbers in order, dates, quoted names, and
    negation."""
    quoted = [one or other for one, other in _QUOTED.findall(wording.text)]
    denied = bool(wording.seen & _DENIALS or "n't" in wording.text or _DENSE_DENIAL.search(wording.text))
    return _NUMBER.findall(wording.text), set(wording.seen & _DATES), quoted, denied
