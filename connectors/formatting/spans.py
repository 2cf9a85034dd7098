"""Find the spans of a text that must not be cut: links, bare addresses and inline code."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter

Span = tuple[int, int]

_INNER = r"\[[^\[\]\n]*+\](?:\([^()\s]*+\))?+"
_LINK = re.compile(
    rf"!?\[(?:[^\[\]\n]++|{_INNER})*+\]"
    r"\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?:[ \t]+\"[^\"\n]*+\")?[ \t]*+\)"
    r"|(?:https?|ftp|mailto|tg|slack)://[^\s<>\u3000-\u3002\uff01\uff09\uff0c\uff1f]++"
    r"|<[a-z][a-z0-9+.-]{1,20}:[^\s<>]++>",
    re.IGNORECASE,
)
_TICKS = re.compile(r"`+")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n")


def find_spans(text: str, outside: Sequence[Span]) -> list[Span]:
    """Return the spans in those pieces of a text that are not code, in order; overlapping spans are merged."""
    found = sorted(span for start, end in outside for span in _spans(text, start, end))
    return list(_united(found))


def span_around(spans: Sequence[Span], at: int) -> Span | None:
    """Return the span that a cut at `at` would divide."""
    number = bisect_left(spans, at, key=itemgetter(0)) - 1
    return spans[number] if number >= 0 and at < spans[number][1] else None


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _LINK.finditer(text, start, end):
        yield match.span()
    breaks = [(match.start(), match.end()) for match in _PARAGRAPH.finditer(text, start, end)]
    for first, last in zip([start, *(at for _, at in breaks)], [*(at for at, _ in breaks), end], strict=True):
        yield from _inline_code(text, first, last)


def _inline_code(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield each run of backticks with the next run of the same length."""
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
