"""Markers in a message in which a client has included earlier messages: one before them, one before the question."""

from __future__ import annotations

BEFORE = "[What was said before, as the program tells it]"
NOW = "[What is asked now]"


def own_words(content: str) -> str:
    """Return the person's own text. Every line that the client added begins with `> `, so the first bare marker is
    the daemon's."""
    if not content.startswith(BEFORE):
        return content
    return content.partition(f"\n{NOW}\n")[2]
