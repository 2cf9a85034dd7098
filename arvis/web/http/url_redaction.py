"""Addresses as they may be shown: some hold a name and a password, `https://ann:secret@host/`."""

from __future__ import annotations

import re
from typing import TypeVar

T = TypeVar("T")

_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


def holds_login(address: str) -> bool:
    return _LOGIN.search(address) is not None


def shown(value: T) -> T | str:
    """A text without the logins of the addresses in it; anything else as it is."""
    return _LOGIN.sub("•••@", value) if isinstance(value, str) else value
