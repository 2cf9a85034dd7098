"""Where the fenced code of a Markdown text begins and ends.

Models indent fences, quote them and begin them behind the mark of a list: all of these count, and so does one that is never
closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = r"(?P<lead>[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,})(?P<info>(?:(?!```)[^\n])*)"
_CLOSING = r"[ \t>]*(?P<marks>`{3,}|~{3,})[ \t\r]*"
_OPENING_LINE = re.compile(rf"^{_OPENING}$", re.MULTILINE)
_CLOSING_LINE = re.compile(rf"^{_CLOSING}$", re.MULTILINE)
_OPENS, _CLOSES = re.compile(_OPENING), re.compile(_CLOSING)


@dataclass(frozen=True, slots=True)
class Fence:
    """Code from the `start` of its opening line to the `end` of its closing one; its lines are from `body` to `last`. A part
    that is cut there is closed by the line `bare`, and the next one is opened by `opening`, as the text does it, or by
    `bare`."""

    start: int
    body: int
    last: int
    end: int
    opening: str
    bare: str

    def holds(self, at: int) -> bool:
        """Whether a text that is cut here is cut inside the code."""
        return self.start < at < self.end


def find_fences(text: str) -> list[Fence]:
    """In order."""
    return list(_fences(text))


def opens_code(text: str, start: int, end: int) -> bool:
    """Whether the line from `start` to `end` would open code if it stood alone."""
    return _OPENS.fullmatch(text, start, end) is not None


def closes_code(text: str, start: int, end: int) -> bool:
    """Whether it would close code."""
    return _CLOSES.fullmatch(text, start, end) is not None


def _fences(text: str) -> Iterator[Fence]:
    opened = _OPENING_LINE.search(text)
    while opened:
        fence = _fence(text, opened)
        yield fence
        opened = _OPENING_LINE.search(text, fence.end)


def _fence(text: str, opened: re.Match[str]) -> Fence:
    bare = re.sub(r"[^\s>]", " ", opened["lead"]) + opened["marks"]
    language = (opened["info"].split() or [""])[0]
    # More of the same would be longer marks.
    opening = bare if language.startswith(opened["marks"][0]) else bare + language
    body = min(opened.end() + 1, len(text))
    for closed in _CLOSING_LINE.finditer(text, body):
        if closed["marks"].startswith(opened["marks"]):
            return Fence(opened.start(), body, closed.start() - 1, closed.end(), opening, bare)
    return Fence(opened.start(), body, len(text), len(text), opening, bare)
