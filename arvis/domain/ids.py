"""Ids: texts of 26 characters that sort by creation time (ULIDs, in Crockford's base 32). An order that must be exact
comes from a counter row instead, because the clocks of several processes differ."""

from __future__ import annotations

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: All pairs of letters of the alphabet. `encode` writes two letters at a time because this is faster; one message needs
#: about ten ids.
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LENGTH = 26
_TIME_BITS = 48
RANDOM_BITS = 80


def encode(number: int) -> str:
    """Return the id that encodes a number below 2**128."""
    return "".join([_PAIRS[number >> shift & 1023] for shift in range((_LENGTH - 2) * 5, -1, -10)])


def moment_of(at: int) -> int:
    """Return the number that encodes this time (ms) and has only zeros in place of an id's random bits."""
    return (at & (1 << _TIME_BITS) - 1) << RANDOM_BITS


def first_id_at(at: int) -> str:
    """Return a lower bound for all ids created at this time (ms) or later."""
    return encode(moment_of(max(0, at)))


def time_of(row_id: str) -> int:
    """Return the creation time (ms) of an id. Characters that no id contains count as zeros."""
    at = 0
    for letter in row_id[: _TIME_BITS // 5 + 1]:
        at = at << 5 | max(0, _ALPHABET.find(letter))
    return at
