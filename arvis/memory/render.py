"""How a fact is told in a line among others."""

from __future__ import annotations

_MOST = 200


def whole(text: str) -> str:
    """All of it on one line. What people would not see is spelt out, by the number of the character."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)


def brief(text: str, most: int = _MOST) -> str:
    """On one line, at most so many letters, without control characters."""
    line = " ".join(text.split())
    seen = "".join(letter for letter in line if letter.isprintable())
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"
