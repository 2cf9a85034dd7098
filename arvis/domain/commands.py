"""How a message is read as a command: `/name argument`, with the name of a bot behind it where a platform puts it there."""

from __future__ import annotations

import re

_SPOKEN = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_.-]{1,64})?(?:\s+(?P<rest>.*))?", re.DOTALL)


def split_command(text: str) -> tuple[str, str] | None:
    """Name in lower case and argument, trimmed; None for what cannot be a command. Whether there is such a one is not known
    here."""
    found = _SPOKEN.fullmatch(text)
    return None if found is None else (found["name"].lower(), (found["rest"] or "").strip())
