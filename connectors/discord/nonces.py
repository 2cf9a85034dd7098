"""The key under which Discord knows one of our messages, so that sending it twice shows it once.

Discord takes at most 25 characters, and an id of Arvis has 26. So its 128 bits are written in base 64: 22 characters,
which leaves three for the number of the part.
"""

from __future__ import annotations

import base64

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26
_MOST_DIGITS = 3
_DIGITS = {letter: value for value, letter in enumerate(_ALPHABET)}


def nonce_of(key: str) -> str:
    """Return the nonce of a part (`ID.NUMBER`) or of a draft (`ID`). Raises `ValueError` for any other key."""
    id_, _, number = key.partition(".")
    if len(id_) != _LENGTH or len(number) > _MOST_DIGITS or not set(id_) <= _DIGITS.keys():
        raise ValueError(f"{key} is no key of a message")
    value = 0
    for letter in id_:
        value = value * 32 + _DIGITS[letter]
    return base64.urlsafe_b64encode((value % 2**128).to_bytes(16)).decode().rstrip("=") + number
