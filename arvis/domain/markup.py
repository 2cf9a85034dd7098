"""The one tokenizer for tags, in which a model writes everything that addresses the system.

`find_tags` reads the tags from the final text of a model, and from no other text. `visible` is the text without them,
for people. `escape` makes untrusted text harmless before it enters a prompt. For any text x: `find_tags(escape(x))`
and `find_tags(visible(x))` are empty, `visible(visible(x)) == visible(x)`, and all of them take time in proportion to
its length. `arvis.tags` gives the tags their meaning; `markup_grammar` lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arvis.domain.markup_grammar import MESSAGE_MARK, OPENER_NAMES
from arvis.domain.markup_scanner import MOST_BYTES, MOST_TAGS, Scanner, Tag

__all__ = [
    "MOST_BYTES",
    "MOST_TAGS",
    "Scan",
    "Tag",
    "VisibleStream",
    "closed",
    "escape",
    "find_tags",
    "scan",
    "unescape",
    "visible",
]


@dataclass(frozen=True, slots=True)
class Scan:
    visible: str
    tags: tuple[Tag, ...]


def scan(text: str) -> Scan:
    """Return the visible text and the tags of a text, in one pass."""
    scanner = Scanner()
    pieces = scanner.feed(text), scanner.close()
    return Scan("".join(pieces), tuple(scanner.tags))


def find_tags(text: str) -> list[Tag]:
    """Return the first `MOST_TAGS` tags, in order; excess or oversized tags carry a problem."""
    return list(scan(text).tags)


def visible(text: str) -> str:
    """Return the trimmed text without tags, including incomplete tags and tags that no code reads."""
    return scan(text).visible


def closed(text: str) -> str:
    """Return the text without the tag that its end leaves open: for a truncated text."""
    scanner = Scanner()
    scanner.feed(text)
    scanner.close()
    return text[: len(text) - scanner.unclosed].rstrip() if scanner.unclosed else text


class VisibleStream:
    """`visible` for text that arrives in pieces. Text that was returned is never changed; all returned pieces
    together equal `visible` of the whole text."""

    def __init__(self) -> None:
        self._scanner = Scanner()

    def feed(self, piece: str) -> str:
        """Add a piece and return the text that became visible."""
        return self._scanner.feed(piece)

    def close(self) -> str:
        """Return the remaining visible text. No piece may follow."""
        return self._scanner.close()


# -- untrusted text in prompts -----------------------------------------------------------------------------------------

#: Full-width brackets and colon, which no tag contains.
_WIDE = {"[": "\uff3b", "<": "\uff1c", ":": "\uff1a"}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}

_MESSAGE = MESSAGE_MARK[:-1]


def _openers(square: str, angle: str, colon: str) -> re.Pattern[str]:
    """Return a pattern for openers written with these brackets and colon, up to their last character. It matches all
    beginnings of markers, and some more."""
    return re.compile(
        rf"{square}(?=(?ai:/?(?:{OPENER_NAMES['[']})(?:[ \t]*[:\]]|\Z)))"
        rf"|{angle}(?=(?ai:/?(?:{OPENER_NAMES['<']})(?![A-Z0-9_-])))"
        rf"|{_MESSAGE}{colon}"
    )


_OPENERS = _openers(r"\[", "<", ":")
_ESCAPED = _openers(*_WIDE.values())


def escape(text: str) -> str:
    """Return the text with the openers of tags in full width, so that it contains no tag."""
    if "[" not in text and "<" not in text and _MESSAGE not in text:
        return text
    return _OPENERS.sub(lambda found: found[0][:-1] + _WIDE[found[0][-1]], text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: found[0][:-1] + _NARROW[found[0][-1]], text)
