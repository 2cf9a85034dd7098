"""How passwords are kept and compared."""

from __future__ import annotations

from typing import Protocol


class Passwords(Protocol):
    async def hashed(self, password: str) -> str:
        """What is kept of a password. Raises `TooMany` when too many wait already."""
        ...

    async def matches(self, password: str, kept: str | None) -> bool:
        """Whether `kept` was made of this password. None matches nothing, and takes as long to say so. Raises
        `TooMany` when too many wait already."""
        ...
