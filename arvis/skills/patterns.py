"""Regular expressions that people wrote, matched in time that grows with the text and with nothing else.

RE2 knows no look-around and no back-references, and so needs no time limit; its memory has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # it ships no types

#: Characters of one pattern, and bytes that it may take when it is compiled.
LONGEST_PATTERN = 300
_MEMORY = 1 << 20

Matches = Callable[[str], bool]


class BadPattern(Exception):
    """The pattern cannot be compiled; the text gives the reason."""


def compile_pattern(pattern: str) -> Matches:
    """Return a function that searches the pattern in a text, without regard to case. Raise `BadPattern`."""
    if not 0 < len(pattern) <= LONGEST_PATTERN:
        raise BadPattern(f"it must have 1 to {LONGEST_PATTERN} characters")
    return _compiled(pattern)


def compile_any(patterns: Sequence[str]) -> Matches:
    """Return a function that tests if a text may contain any of these patterns, each of which compiles alone: one
    search instead of many. It always returns True if they are too large together."""
    try:
        return _compiled("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else _never
    except BadPattern:
        return _always


#: The same for the patterns of all skills, which stay the same from turn to turn.
compile_once = lru_cache(maxsize=16)(compile_any)


def _compiled(pattern: str) -> Matches:
    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        raise BadPattern(_reason(error)) from None
    return lambda text: compiled.search(text) is not None


def _never(_text: str) -> bool:
    return False


def _always(_text: str) -> bool:
    return True


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
