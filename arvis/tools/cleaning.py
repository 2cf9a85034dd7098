"""Text of strangers as the store can hold it."""

from __future__ import annotations

import re

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Without NUL characters; half a character becomes the replacement character."""
    return _LONE_SURROGATES.sub("\ufffd", text.replace("\0", ""))
