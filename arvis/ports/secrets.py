"""Encryption of stored secrets: secrets that people enter are sealed before they reach the database."""

from __future__ import annotations

from typing import Protocol


class SecretBox(Protocol):
    def seal(self, text: str) -> str:
        """Return printable text that reveals nothing about `text` but its length."""
        ...

    def open(self, sealed: str) -> str:
        """Raises `SecretLost` when it was sealed with another key, or changed since."""
        ...

    def unheard(self) -> SecretBox:
        """The same box for what is private but no secret by itself, such as a whole answer: the filter of the logs, which
        learns every secret that passes, does not learn it."""
        ...
