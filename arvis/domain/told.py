"""Marks in a message into which a program has put what was said before, and what the asker says themselves there."""

from __future__ import annotations

BEFORE = "[What was said before, as the program tells it]"
NOW = "[What is asked now]"


def own_words(content: str) -> str:
    """Return what the asker says; every line that the program tells stands behind `> `, so the first bare mark is ours."""
    if not content.startswith(BEFORE):
        return content
    return content.partition(f"\n{NOW}\n")[2]
