"""A fact as one line of a list."""

from __future__ import annotations

_MOST = 200


def whole(text: str) -> str:
    """Return all of it on one line. Invisible characters are replaced by their code points."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)


def brief(text: str, most: int = _MOST) -> str:
    """Return one line of at most `most` letters, without control characters."""
    line = " ".join(text.split())
    seen = "".join(letter for letter in line if letter.isprintable())
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"
