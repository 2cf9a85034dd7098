"""Divides Markdown into parts that a platform accepts.

A part ends at the last end of a paragraph that fits. If the second half of the part contains no end of a paragraph, the
part ends at the end of a line, a sentence or a word. A part that ends inside code closes the code, and the next part
opens the code again. A link, an address, inline code or a grapheme is cut only if it alone is too long for a part. The
concatenated parts equal the text, except for the repeated marks of code and for white space at the cuts. The time is
proportional to the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, itemgetter

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from connectors.formatting.units import ends_grapheme, last_end

# Fenced code. Models indent fences, quote them and begin them after a list marker. All of these count as fences, and so
# does a fence that is never closed.

_OPENING = r"(?P<lead>[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,})(?P<info>(?:(?!```)[^\n])*)"
_CLOSING = r"[ \t>]*(?P<marks>`{3,}|~{3,})[ \t\r]*"
_OPENING_LINE = regex(rf"^{_OPENING}$", re.MULTILINE)
_CLOSING_LINE = regex(rf"^{_CLOSING}$", re.MULTILINE)
_OPENS, _CLOSES = regex(_OPENING), regex(_CLOSING)


@dataclass(frozen=True, slots=True)
class Fence:
    """Code from the `start` of its opening line to the `end` of its closing line; the lines between are from `body` to
    `last`. If a part ends inside the code, the line `bare` (only the marks) closes it. The next part opens the code
    again with the line `opening` (marks and language), or with `bare` if `opening` is too long."""

    start: int
    body: int
    last: int
    end: int
    opening: str
    bare: str

    def holds(self, at: int) -> bool:
        """Return True if a cut at this position is inside the code."""
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
    # A language that begins with the character of the marks would make the marks longer.
    opening = bare if language.startswith(opened["marks"][0]) else bare + language
    body = min(opened.end() + 1, len(text))
    for closed in _CLOSING_LINE.finditer(text, body):
        if closed["marks"].startswith(opened["marks"]):
            return Fence(opened.start(), body, closed.start() - 1, closed.end(), opening, bare)
    return Fence(opened.start(), body, len(text), len(text), opening, bare)


# Spans that must not be cut: links, bare addresses and inline code.

Span = tuple[int, int]

_INNER = r"\[[^\[\]\n]*+\](?:\([^()\s]*+\))?+"
_LINK = regex(
    rf"!?\[(?:[^\[\]\n]++|{_INNER})*+\]"
    r"\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?:[ \t]+\"[^\"\n]*+\")?[ \t]*+\)"
    r"|(?:https?|ftp|mailto|tg|slack)://[^\s<>\u3000-\u3002\uff01\uff09\uff0c\uff1f]++"
    r"|<[a-z][a-z0-9+.-]{1,20}:[^\s<>]++>",
    re.IGNORECASE,
)
_TICKS = regex(r"`+")
_PARAGRAPH = regex(r"\n[ \t\r]*\n")


def find_spans(text: str, outside: Sequence[Span]) -> list[Span]:
    """Return the spans of a text in order; overlapping spans are merged. Only the pieces in `outside`, which are not
    code, are searched."""
    found = sorted(span for start, end in outside for span in _spans(text, start, end))
    return list(_united(found))


def span_around(spans: Sequence[Span], at: int) -> Span | None:
    """Return the span that a cut at this position would divide."""
    number = bisect_left(spans, at, key=itemgetter(0)) - 1
    return spans[number] if number >= 0 and at < spans[number][1] else None


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _LINK.finditer(text, start, end):
        yield match.span()
    breaks = [(match.start(), match.end()) for match in _PARAGRAPH.finditer(text, start, end)]
    for first, last in zip([start, *(at for _, at in breaks)], [*(at for at, _ in breaks), end], strict=True):
        yield from _inline_code(text, first, last)


def _inline_code(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans that begin with a run of backticks and end with the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text, start, end)]
    partner, nearest = [-1] * len(runs), dict[int, int]()
    for number in range(len(runs) - 1, -1, -1):
        size = runs[number][1] - runs[number][0]
        partner[number] = nearest.get(size, -1)
        nearest[size] = number
    number = 0
    while number < len(runs):
        first = runs[number][0]
        escaped = first > start and text[first - 1] == "\\"
        if partner[number] < 0 or escaped:
            number += 1
            continue
        yield first, runs[partner[number]][1]
        number = partner[number] + 1


def _united(spans: Sequence[Span]) -> Iterator[Span]:
    """Merge overlapping spans."""
    current: Span | None = None
    for start, end in spans:
        if current is None or start >= current[1]:
            if current is not None:
                yield current
            current = start, end
        else:
            current = current[0], max(current[1], end)
    if current is not None:
        yield current


#: The smallest accepted limit: a smaller part has no space for code and its marks.
LEAST = 32

#: Forbids a cut before characters that would begin a heading, a list, a quotation or a table at the start of a line.
_NO_BLOCK = r"(?![ \t]*+(?:#{1,6}\s|[-*+]\s|[0-9]{1,9}[.)]\s|>|\|))"
#: The number of characters that are searched beyond the last possible end of a part, because the patterns look at the
#: characters after an end.
_AHEAD = 16

_LINE = regex(r"\n")
_SENTENCE = regex(r"[.!?…][\"'\u201d\u2019)\]*_]*(?=\s)" + _NO_BLOCK + "|[\u3002\uff01\uff1f]")
_WORD = regex(r"(?<=\S)(?=\s)" + _NO_BLOCK)
_LEVELS = (_PARAGRAPH, _LINE, _SENTENCE, _WORD)
_CODE_LEVELS = (_PARAGRAPH, _LINE, _WORD)
_GAP = regex(r"\s*\n")
_SPACE = regex(r"\s+")


def split(text: str, limit: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return the parts of a text: at least one, each at most `limit` long according to `measure`. `measure` must not
    give a longer text a smaller value, and `limit` must be at least `LEAST`."""
    return list(divide(text, limit, measure)) or [""]


def divide(text: str, limit: int, measure: Callable[[str], int] = len) -> Iterator[str]:
    """Yield the parts that `split` returns. Each part is made when it is requested. A blank text that is longer than
    `limit` has no parts."""
    if limit < LEAST:
        raise ValueError(f"the limit {limit} is too small for Markdown")
    if len(text) <= limit * 4 and measure(text) <= limit:
        yield text
    else:
        yield from (part for part in _Splitter(text, limit, measure).parts() if part.strip())


@dataclass(frozen=True, slots=True)
class _Cut:
    """A cut of the text: one part ends at `end`, and the next part begins at `next`."""

    end: int
    next: int


class _Splitter:
    def __init__(self, text: str, limit: int, measure: Callable[[str], int]) -> None:
        self._text = text
        self._limit = limit
        self._measure = measure
        # Marks of code that are longer than a sixth of a part are not repeated. The code inside them is cut like normal
        # text.
        self._fences = [fence for fence in find_fences(text) if measure(fence.bare) <= limit // 6]
        self._spans = find_spans(text, _outside(self._fences, len(text)))

    def parts(self) -> Iterator[str]:
        at = 0
        while at < len(self._text):
            furthest = self._furthest(at)
            if furthest == len(self._text):
                yield self._part(at, furthest, is_last=True)
                return
            cut = self._cut(at, furthest)
            while self._room(at, cut.end) < 0 and cut.end > at + 1:
                cut = self._cut(at, at + max((cut.end - at) * 3 // 4, 1))
            yield self._part(at, cut.end)
            at = cut.next

    def _part(self, start: int, end: int, *, is_last: bool = False) -> str:
        """Return the part that is sent for the text from `start` to `end`."""
        before, after = self._fence(start), None if is_last else self._fence(end)
        opening = f"{self._opening(before)}\n" if before else ""
        body = self._text[start:end]
        if after:
            return f"{opening}{body}\n{after.bare}"
        return opening + body.rstrip()

    def _opening(self, fence: Fence) -> str:
        return fence.opening if self._measure(fence.opening) <= self._limit // 3 else fence.bare

    def _room(self, start: int, end: int) -> int:
        """Return the number of units that the part could still contain; negative if the part is too long."""
        return self._limit - self._measure(self._part(start, end, is_last=end == len(self._text)))

    def _furthest(self, start: int) -> int:
        """Return the last possible end of a part that begins at `start`. Measuring may be slow, so only a few positions
        are measured. If each character is one unit, the first or second position is right."""
        size = len(self._text)
        fits, too_far = start + 1, size + 1
        end, by_units = min(start + self._limit, size), True
        while True:
            room = self._room(start, end)
            fits, too_far = (end, too_far) if room >= 0 else (fits, end)
            if fits == size:
                return size
            if room == 0 or fits + 1 >= too_far:
                return self._past_closing(start, fits)
            guess = end + room if by_units else min((fits + too_far) // 2, end + self._limit)
            end, by_units = min(max(guess, fits + 1), too_far - 1), not by_units

    def _past_closing(self, start: int, end: int) -> int:
        """Return a better end for a part that ends inside code. If the rest of the code fits into the part, return the
        position after the closing line of the code. Otherwise return `end`, but at most the end of the last line inside
        the code."""
        fence = self._fence(end)
        if fence and self._room(start, fence.end) >= 0:
            return fence.end
        return min(end, fence.last) if fence and fence.last > start else end

    def _fence(self, at: int) -> Fence | None:
        """Return the code that a cut at `at` would divide."""
        number = bisect_right(self._fences, at, key=attrgetter("start")) - 1
        return self._fences[number] if number >= 0 and self._fences[number].holds(at) else None

    def _cut(self, start: int, furthest: int) -> _Cut:
        fence = self._fence(furthest)
        if fence is None:
            return self._cut_text(start, furthest)
        if fence.start > start and (fence.start - start) * 2 >= furthest - start:
            return self._cut_text(start, fence.start)
        return self._cut_code(start, furthest, fence)

    def _cut_text(self, start: int, furthest: int) -> _Cut:
        half = start + (furthest - start) // 2
        for level, first in (*((level, half) for level in _LEVELS), (_WORD, start)):
            for match in reversed(list(level.finditer(self._text, first, furthest + _AHEAD))):
                end = match.end() if level is _SENTENCE else match.start()
                if self._may_end(start, end, furthest):
                    return _Cut(end, self._behind_space(end))
        return self._cut_hard(start, furthest)

    def _may_end(self, start: int, end: int, furthest: int) -> bool:
        if not start < end <= furthest or self._fence(end) or span_around(self._spans, end):
            return False
        behind = self._behind_space(end)
        if behind == end and not ends_grapheme(self._text, end, start):
            return False
        if "\n" in self._text[end:behind]:
            return not self._text[start:end].isspace()
        return self._is_harmless(start, end, behind)

    def _is_harmless(self, start: int, end: int, behind: int) -> bool:
        """Return True if the line may be cut here: neither half of the line, read alone, opens code or closes the code
        around the line."""
        fence = self._fence(end)
        if fence and end < fence.body:
            return True
        marks = closes_code if fence else opens_code
        line = max(self._text.rfind("\n", start, end) + 1, start)
        # A part contains at most this much of the line.
        last = min(behind + self._limit, len(self._text))
        stop = self._text.find("\n", behind, last)
        halves = ((line, end), (behind, last if stop < 0 else stop))
        return not any(marks(self._text, *half) for half in halves)

    def _behind_space(self, end: int) -> int:
        """Return the position at which the next part begins. White space before it is skipped, except the indentation
        of the first line."""
        gap = _GAP.match(self._text, end)
        if gap is None and end and self._text[end - 1] != "\n":
            gap = _SPACE.match(self._text, end)
        return gap.end() if gap else end

    def _cut_code(self, start: int, furthest: int, fence: Fence) -> _Cut:
        first = max(start, fence.body)
        half = max(first, start + (furthest - start) // 2)
        for level, begin in (*((level, half) for level in _CODE_LEVELS), (_LINE, first)):
            for match in reversed(list(level.finditer(self._text, begin, min(furthest, fence.last) + 1))):
                end = match.start()
                if first < end <= furthest and (level is not _WORD or self._is_harmless(first, end, end)):
                    return _Cut(end, end + (self._text[end] == "\n"))
        if start < fence.start:
            return self._cut_text(start, fence.start)
        return self._cut_hard(start, furthest)

    def _cut_hard(self, start: int, furthest: int) -> _Cut:
        """Cut between two characters. If the cut would divide a span that must stay whole, cut before the span. If
        nothing precedes the span, cut inside it."""
        span = span_around(self._spans, furthest)
        ends = (span[0], furthest) if span else (furthest,)
        found = (self._last_harmless(start, end) for end in ends)
        end = next(filter(None, found), None) or last_end(self._text, start, furthest)
        return _Cut(end, end)

    def _last_harmless(self, start: int, end: int) -> int | None:
        """Return the last position up to `end` for a harmless cut between two characters; None if there is no such
        position."""
        while end > start:
            end = last_end(self._text, start, end)
            if not ends_grapheme(self._text, end, start):
                return None
            if self._is_harmless(start, end, end):
                return end
            # Marks open or close code only at the start of a line: a character before them makes them text.
            end = start + len(self._text[start:end].rstrip(" \t>`~")) - 1
        return None


def _outside(fences: Sequence[Fence], size: int) -> list[Span]:
    """Return the pieces of the text that are outside of the fences."""
    starts = [0, *(fence.end for fence in fences)]
    ends = [*(fence.start for fence in fences), size]
    return list(zip(starts, ends, strict=True))
