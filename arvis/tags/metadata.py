"""`<response-metadata>` with its `<attributes>` (behaviour 5.2)."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from arvis.domain.markup import Tag
from arvis.domain.markup_grammar import METADATA

_ATTRIBUTES = re.compile(r"<attributes>(.*?)</attributes>", re.ASCII | re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"\s*<(?P<name>[A-Za-z_][\w.-]{0,63})>(?P<value>[^<]*)</(?P=name)>\s*", re.ASCII)
_PLAIN_TEXT = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def attributes_of(tags: Sequence[Tag]) -> Mapping[str, str]:
    """Names and trimmed values of the first block; empty ones are absent. None at all when the block is broken."""
    block = next((tag.body for tag in tags if tag.name == METADATA), "")
    found = _ATTRIBUTES.search(block)
    return _read(_PLAIN_TEXT.sub(lambda data: html.escape(data[1]), found[1])) if found else {}


def _read(text: str) -> dict[str, str]:
    """Attributes lie flat, one behind the other."""
    values: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _ATTRIBUTE.match(text, position)
        if found is None:
            return values if not text[position:].strip() else {}
        if value := html.unescape(found["value"]).strip():
            values.setdefault(found["name"], value)
        position = found.end()
    return values
