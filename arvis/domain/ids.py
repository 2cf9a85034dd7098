"""Ids as text that sorts by the time of its making: ULIDs, 26 characters of Crockford's base 32.

They are unique and readable; order that matters comes from counter rows, never from ids (architecture §4).
"""

from __future__ import annotations

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: Two letters at a time: a message makes ten ids.
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LENGTH = 26
_TIME_BITS = 48
RANDOM_BITS = 80


def encode(number: int) -> str:
    """A number below 2**128 as an id."""
    return "".join([_PAIRS[number >> shift & 1023] for shift in range((_LENGTH - 2) * 5, -1, -10)])


def moment_of(at: int) -> int:
    """A time in ms as the front part of an id's number."""
    return (at & (1 << _TIME_BITS) - 1) << RANDOM_BITS


def first_id_at(at: int) -> str:
    """No id made at this time (ms) or later sorts before this one."""
    return encode(moment_of(max(0, at)))
