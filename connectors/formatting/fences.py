"""Find the beginning and end of fenced code in a Markdown text.

Models indent fences, quote them and begin them after a list marker: all of these count, and so does a fence that is
never closed.
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
    """Code from the `start` of its opening line to the `end` of its closing one; its lines are from `body` to `last`.
    When a part is cut inside it, the line `bare` closes it, and the next part opens it again with `opening`, as the
    text does, or with `bare`."""

    start: int
    body: int
    last: int
    end: int
    opening: str
    bare: str

    def holds(self, at: int) -> bool:
        """Return whether a cut at this place is inside the code."""
        return self.start < at < self.end


def find_fences(text: str) -> list[Fence]:
    """Return the fences of a text, in order."""
    return list(_fences(text))


def opens_code(text: str, start: int, end: int) -> bool:
    """Return whether the line from `start` to `end` would open code if it were alone."""
    return _OPENS.fullmatch(text, start, end) is not None


def closes_code(text: str, start: int, end: int) -> bool:
    """Return whether the line from `start` to `end` would close code."""
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
    # More of the same character would make longer marks.
    opening = bare if language.startswith(opened["marks"][0]) else bare + language
    body = min(opened.end() + 1, len(text))
    for closed in _CLOSING_LINE.finditer(text, body):
        if closed["marks"].startswith(opened["marks"]):
            return Fence(opened.start(), body, closed.start() - 1, closed.end(), opening, bare)
    return Fence(opened.start(), body, len(text), len(text), opening, bare)
