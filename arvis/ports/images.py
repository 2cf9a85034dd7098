"""The interface of services that generate pictures. `arvis/providers/images.py` implements it."""

from __future__ import annotations

from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

#: The sizes of pictures, as `WIDTHxHEIGHT`, or `auto`.
SIZE = regex(r"auto|[1-9]\d{1,3}x[1-9]\d{1,3}")


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated picture: its bytes, or the address from which they can be fetched."""

    data: bytes = b""
    url: str = ""
    #: The description that the service used instead of the given description; it may be empty.
    prompt: str = ""


class ImageGenerator(Protocol):
    async def generate(self, prompt: str, size: str) -> Generated:
        """Return a picture. An empty `size` means the configured size. Raise `ToolError`, with a text for the model,
        if the service returns no picture."""
        ...
