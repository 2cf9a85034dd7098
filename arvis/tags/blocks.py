"""The body of a conductor's block: `key: value` lines (behaviour 1.9).

A value is an integer of 15 and more digits as text (such are the ids of channels), else JSON, else text. A key without a value
begins a nested block, which ends at the next line that begins, not indented, with a key of this tag; so texts of several lines
may hold colons. Such a block is JSON, a list of `- ` lines, or text; that of `personality` is a list of keys again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from arvis.domain.text import strict_json

_LINE = re.compile(r"(?P<key>[A-Za-z_]\w*)[ \t]*:(?P<value>.*)", re.ASCII)
_LONG_INTEGER = re.compile(r"[+-]?[0-9]{15,}")
_ITEM = "- "


@dataclass(slots=True)
class Entry:
    """The value of a key: the rest of its line, and the lines under it."""

    value: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the complete value, unchanged."""
        return "\n".join(filter(None, [self.value, dedent("\n".join(self.lines)).strip()]))


@dataclass(frozen=True, slots=True)
class Block:
    """`stray` are lines that belong to no key; `twice` are keys that occur more than once (the first counts)."""

    entries: dict[str, Entry]
    stray: list[str]
    twice: list[str]


def split(body: str, keys: Collection[str]) -> Block:
    """Cut a body at the lines that begin with keys. Where no block is open, an unknown key is also an entry."""
    block = Block({}, [], [])
    current: Entry | None = None
    for line in body.split("\n"):
        found = _LINE.match(line)
        key = found["key"].lower() if found else ""
        if found and (key in keys or current is None or current.value):
            current = Entry(found["value"].strip())
            if key in block.entries:
                block.twice.append(key)
            block.entries.setdefault(key, current)
        elif current is not None:
            current.lines.append(line.rstrip())
        elif line.strip():
            block.stray.append(line.strip())
    return block


def value_of(text: str) -> Any:
    """Parse a text, number, boolean, list or mapping."""
    if _LONG_INTEGER.fullmatch(text):
        return text
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return text


def nested(text: str) -> Any:
    """The value of a block of several lines."""
    value = value_of(text)
    lines = text.split("\n")
    if isinstance(value, str) and all(line.startswith(_ITEM) for line in lines):
        return [value_of(line.removeprefix(_ITEM).strip()) for line in lines]
    return value


def mapping(text: str) -> Any:
    """Parse lines of keys and values; return other text unchanged."""
    value = value_of(text)
    found = [_LINE.fullmatch(line.strip()) for line in text.split("\n")]
    if not isinstance(value, str) or not all(found):
        return value
    return {each["key"]: value_of(each["value"].strip()) for each in found if each}
