"""The protection of stored secrets. Secrets that people enter are sealed before they are stored; passwords are stored
only as hashes."""

from __future__ import annotations

from typing import Protocol


class Passwords(Protocol):
    async def hashed(self, password: str) -> str:
        """Return the hash of a password for storing. Raises `TooMany` if too many calls are already waiting."""
        ...

    async def matches(self, password: str, kept: str | None) -> bool:
        """Return whether `kept` is the stored hash of this password. `kept` None matches no password, but the call
        takes as long as a comparison. Raises `TooMany` if too many calls are already waiting."""
        ...


class SecretBox(Protocol):
    def seal(self, text: str) -> str:
        """Encrypt a text. The result is printable text that reveals only the length of `text`."""
        ...

    def open(self, sealed: str) -> str:
        """Decrypt a sealed text. Raises `SecretLost` if it was sealed with another key, or changed afterwards."""
        ...

    def unheard(self) -> SecretBox:
        """Return a box with the same key for private data that is no secret, such as a whole answer. This box adds its
        texts to the filter that removes secrets from logs; the returned box does not."""
        ...
