"""URLs without their logins: some contain a name and a password, such as `https://ann:secret@host/`."""

from __future__ import annotations

import re
from typing import TypeVar

T = TypeVar("T")

_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


def holds_login(address: str) -> bool:
    return _LOGIN.search(address) is not None


def shown(value: T) -> T | str:
    """Return the text without the logins of URLs in it. Values of other types are unchanged."""
    return _LOGIN.sub("•••@", value) if isinstance(value, str) else value
