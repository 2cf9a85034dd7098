"""How a fact is told in a line among others."""

from __future__ import annotations

_MOST = 200


def brief(text: str, most: int = _MOST) -> str:
    """On one line, at most so many letters, without control characters."""
    line = " ".join(text.split())
    seen = "".join(letter for letter in line if letter.isprintable())
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"
