"""The protection of stored secrets: secrets that people enter are sealed before they are stored."""

from __future__ import annotations

from typing import Protocol


class SecretBox(Protocol):
    def seal(self, text: str) -> str:
        """Encrypt a text. The result is printable text that reveals only the length of `text`."""
        ...

    def open(self, sealed: str) -> str:
        """Decrypt a sealed text. Raise `SecretLost` if it was sealed with another key, or changed afterwards."""
        ...

    def unheard(self) -> SecretBox:
        """Return a box with the same key for data that is private but not secret, such as a whole answer of the API.
        The filter that removes secrets from logs learns all texts of this box, but no texts of the returned box."""
        ...
