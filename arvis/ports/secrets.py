"""Secrets at rest: those that people enter are sealed before they reach the database; passwords are stored as hashes."""

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


class SecretBox(Protocol):
    def seal(self, text: str) -> str:
        """Return printable text that reveals nothing about `text` but its length."""
        ...

    def open(self, sealed: str) -> str:
        """Open a sealed text. Raises `SecretLost` if it was sealed with another key, or changed since."""
        ...

    def unheard(self) -> SecretBox:
        """A sealer with the same key for private data that is no secret, such as a whole answer: the log filter,
        which learns every secret that is sealed or opened, does not learn it."""
        ...
