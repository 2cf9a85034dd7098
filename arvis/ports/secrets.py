"""Encryption of stored secrets: secrets that people enter are sealed before they reach the database."""

from __future__ import annotations

from typing import Protocol


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
