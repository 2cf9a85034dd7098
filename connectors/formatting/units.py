"""The units that platforms count (UTF-16), and the units that people see as one character (grapheme clusters).

Clusters follow Unicode's text segmentation, with Python's own tables. Every end of a cluster that this module reports
is correct. The module does not find all ends, for example after a joiner.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
#: Extending characters that are not marks: the non-joiner, halfwidth voicing marks, and the vowel AM of Thai and Lao.
_EXTENDING = frozenset("\u200c\u200d\uff9e\uff9f\u0e33\u0eb3")
_PREPENDED = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
    "\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
_CONTROLS = frozenset({"Cc", "Cf", "Zl", "Zp"})
#: The canonical combining class of signs that bind two consonants to one.
_VIRAMA = 9


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def last_end(text: str, start: int, at: int) -> int:
    """Return the last position, after `start` and up to `at`, at which a cluster ends. Return `at` if no cluster ends
    in this range. A cluster must begin at `start`."""
    for end in range(at, start, -1):
        if end == len(text) or ends_grapheme(text, end, start):
            return end
    return at


def ends_grapheme(text: str, at: int, start: int = 0) -> bool:
    """Return whether a cluster ends before the character at `at`. A cluster must begin at `start`."""
    before, after = text[at - 1], text[at]
    if before < "\x7f" and after < "\x7f":
        return (before, after) != ("\r", "\n")
    if _extends(after):
        return _is_control(before)
    if before in _PREPENDED:
        return _is_control(after)
    if before == _JOINER or _is_pair(before, after) or _is_one_syllable(before, after):
        return False
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, at, start) % 2 == 0
    return not (unicodedata.category(after) == "Lo" and _is_bound(text, at, start))


def _extends(char: str) -> bool:
    """Return whether the character is a mark, a skin tone, a tag, or another character that extends a cluster."""
    if char in _EXTENDING or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":
        return True
    return unicodedata.category(char)[0] == "M"


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in _CONTROLS and char not in _PREPENDED and not _extends(char)


def _is_pair(before: str, after: str) -> bool:
    """Return whether these are a surrogate pair that was never joined to one character."""
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_one_syllable(before: str, after: str) -> bool:
    """Return whether these are Korean letters of one syllable."""
    if _is_leading(before):
        return _is_leading(after) or _is_following(after) or "\uac00" <= after <= "\ud7a3"
    return _is_following(after) and (_is_following(before) or "\uac00" <= before <= "\ud7a3")


def _is_leading(char: str) -> bool:
    return "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c"


def _is_following(char: str) -> bool:
    return "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb"


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, at: int, start: int) -> int:
    first = at
    while first > start and _is_regional(text[first - 1]):
        first -= 1
    return at - first


def _is_bound(text: str, at: int, start: int) -> bool:
    """Return whether the consonant at `at` is bound to the consonant before it."""
    while at > start and _extends(text[at - 1]):
        at -= 1
        if unicodedata.combining(text[at]) == _VIRAMA:
            return True
    return False
