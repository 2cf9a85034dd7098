"""Ids as text that sorts by creation time: ULIDs, 26 characters of Crockford's base 32. They are unique and readable;
where order matters, counter rows define it, never ids (architecture §4)."""

from __future__ import annotations

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: All pairs of letters, encoded two at a time: a message needs ten ids.
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LENGTH = 26
_TIME_BITS = 48
RANDOM_BITS = 80


def encode(number: int) -> str:
    """Return a number below 2**128 as an id."""
    return "".join([_PAIRS[number >> shift & 1023] for shift in range((_LENGTH - 2) * 5, -1, -10)])


def moment_of(at: int) -> int:
    """Return a time in ms as the front part of an id's number."""
    return (at & (1 << _TIME_BITS) - 1) << RANDOM_BITS


def first_id_at(at: int) -> str:
    """Return a lower bound for all ids created at this time (ms) or later."""
    return encode(moment_of(max(0, at)))
