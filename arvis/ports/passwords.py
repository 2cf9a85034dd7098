"""Storage and comparison of passwords."""

from __future__ import annotations

from typing import Protocol


class Passwords(Protocol):
    async def hashed(self, password: str) -> str:
        """Return the stored form of a password. Raises `TooMany` if too many calls wait already."""
        ...

    async def matches(self, password: str, kept: str | None) -> bool:
        """Return whether `kept` is the stored form of this password. None never matches, and takes the same time.
        Raises `TooMany` if too many calls wait already."""
        ...
