"""The protection of stored secrets. Secrets that people enter are sealed before they are stored; passwords are stored
only as hashes."""

from __future__ import annotations

from typing import Protocol


class Passwords(Protocol):
    async def hashed(self, password: str) -> str:
        """Return the hash of a password for storing. Raises `TooMany` if too many calls are already waiting."""
        ...

    async def matches(self, password: str, kept: str | None) -> bool:
        """Return whether `kept` is the stored hash of this password. If `kept` is None, return False, but only after
        the time that a comparison takes. Raises `TooMany` if too many calls are already waiting."""
        ...


class SecretBox(Protocol):
    def seal(self, text: str) -> str:
        """Encrypt a text. The result is printable text that reveals only the length of `text`."""
        ...

    def open(self, sealed: str) -> str:
        """Decrypt a sealed text. Raises `SecretLost` if it was sealed with another key, or changed afterwards."""
        ...

    def unheard(self) -> SecretBox:
        """Return a box with the same key for data that is private but no secret, such as a whole answer of the API. The
        filter that removes secrets from logs learns all texts of this box, but no texts of the returned box."""
        ...
