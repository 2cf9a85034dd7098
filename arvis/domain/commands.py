"""Parses commands in messages: `/name argument`. Some platforms append the name of a bot to the command name."""

from __future__ import annotations

import re

_SPOKEN = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_.-]{1,64})?(?:\s+(?P<rest>.*))?", re.DOTALL)


def split_command(text: str) -> tuple[str, str] | None:
    """Return the name in lower case and the trimmed argument; None if the text cannot be a command. The command may
    not exist."""
    found = _SPOKEN.fullmatch(text)
    return None if found is None else (found["name"].lower(), (found["rest"] or "").strip())
