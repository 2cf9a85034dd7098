"""The interface of the reader of files from the web. `arvis/media` implements it."""

from __future__ import annotations

from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.ports.http import Fetched


@dataclass(frozen=True, slots=True)
class WebText:
    """The text of a file from the web. All texts are untrusted."""

    #: The media type that was detected in the content or, if none was detected, the type that the server declares.
    content_type: str
    text: str = ""
    title: str = ""
    #: False if the end of the file could not be read.
    whole: bool = True
    #: The reason why there is no text, as a part of a sentence.
    problem: str = ""
    #: The file name extension for an image, such as `png`; empty if the file is not an image.
    image: str = ""


class WebReader(Protocol):
    async def read(self, answer: Fetched) -> WebText:
        """Return the text of an answer, within limits of time and memory."""
        ...
