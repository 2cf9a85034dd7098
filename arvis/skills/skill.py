"""A skill: instructions for messages that match its triggers, read from Markdown with YAML front matter (behaviour.md
1.8)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arvis.config.yaml_text import UnreadableText, read_texts
from arvis.domain.errors import Unprocessable
from arvis.domain.text import storable
from arvis.skills.patterns import BadPattern, Matches, compile_any, compile_pattern

#: Bytes of a file.
LARGEST_FILE = 262_144
SLUG = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)

_LARGEST_FRONT = 16_384
_LONGEST_LINE = 500
_LONGEST_KEYWORD = 100
_MOST_TOOLS, _MOST_KEYWORDS, _MOST_PATTERNS = 50, 200, 50
_FENCE = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class Source(StrEnum):
    """The source of a skill; a later one replaces an earlier one of the same slug."""

    BUILT_IN = "built_in"
    FOLDER = "folder"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Pattern:
    text: str
    matches: Matches


@dataclass(frozen=True, slots=True)
class Skill:
    """A parsed skill."""

    slug: str
    name: str
    description: str
    category: str
    author: str
    version: str
    required_tools: tuple[str, ...]
    #: In lower case.
    keywords: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    #: Returns False if no single pattern needs to be tried on a text.
    may_match: Matches
    #: The Markdown without its front matter.
    body: str
    source: Source
    #: Parts that were left out, such as a pattern that cannot be compiled.
    warnings: tuple[str, ...] = ()
    #: The whole file.
    text: str = ""

    @property
    def hash(self) -> str:
        """Return the hash of the whole file, which identifies its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def read_skill(text: str, *, stem: str | None, source: Source) -> Skill:
    """Parse a file. `stem` is its name without the ending, the default for slug and name; without it the slug is
    required. Raise `Unprocessable`."""
    if len(text.encode(errors="replace")) > LARGEST_FILE:
        raise _unusable(f"it is larger than {LARGEST_FILE} bytes")
    front, body = _divided(storable(text))
    slug = _line(front, "slug") or stem or ""
    if not SLUG.fullmatch(slug):
        raise _unusable("its `slug` must be 1 to 64 lower-case letters, digits, - or _")
    if not body:
        raise _unusable("there is nothing under its front matter")
    triggers = list(_triggers(front))
    patterns, warnings = _compiled(_strings(triggers, "patterns", _MOST_PATTERNS))
    keywords = [word.strip().casefold() for word in _strings(triggers, "keywords", _MOST_KEYWORDS)]
    return Skill(
        slug=slug,
        name=_line(front, "name") or stem or slug,
        description=_line(front, "description"),
        category=_line(front, "category"),
        author=_line(front, "author"),
        version=_line(front, "version") or "1.0.0",
        required_tools=tuple(_strings([front], "required_tools", _MOST_TOOLS)),
        keywords=tuple(dict.fromkeys(word[:_LONGEST_KEYWORD] for word in keywords if word)),
        patterns=patterns,
        may_match=compile_any([pattern.text for pattern in patterns]),
        body=body,
        source=source,
        warnings=warnings,
        text=storable(text),
    )


def _divided(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the front matter as plain values, and the body."""
    found = _FENCE.match(text)
    if found is None:
        raise _unusable("it does not begin with front matter between two lines `---`")
    front = _values(found["front"]) or {}
    if not isinstance(front, dict):
        raise _unusable("its front matter holds no `key: value` lines")
    return front, text[found.end() :].strip()


def _values(front: str) -> Any:
    """Parse the values. Numbers and dates stay text; anchors, and with them exponential growth, are refused."""
    if len(front) > _LARGEST_FRONT:
        raise _unusable(f"its front matter is longer than {_LARGEST_FRONT} characters")
    try:
        return read_texts(front)
    except UnreadableText as error:
        # The fence above it is the first line.
        line = f" (line {error.line + 1})" if error.line is not None else ""
        raise _unusable(f"its front matter cannot be read: {error.text}{line}") from None


def _triggers(front: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """`triggers` is a map or a list of such maps."""
    given = front.get("triggers") or {}
    for trigger in given if isinstance(given, list) else [given]:
        if not isinstance(trigger, dict):
            raise _unusable("its `triggers` must be `keywords` and `patterns`, or a list of such")
        yield trigger


def _strings(maps: list[Mapping[str, Any]], name: str, most: int) -> list[str]:
    """Return all texts under this name: a list, or one text."""
    found: list[str] = []
    for each in maps:
        value = each.get(name) or []
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise _unusable(f"its `{name}` must be a list of texts")
        found += texts
    if len(found) > most:
        raise _unusable(f"it has more than {most} `{name}`")
    return found


def _line(front: Mapping[str, Any], name: str) -> str:
    value = front.get(name) or ""
    if not isinstance(value, str):
        raise _unusable(f"its `{name}` must be a text")
    line = " ".join(value.split())
    if len(line) > _LONGEST_LINE:
        raise _unusable(f"its `{name}` is longer than {_LONGEST_LINE} characters")
    return line


def _compiled(texts: list[str]) -> tuple[tuple[Pattern, ...], tuple[str, ...]]:
    patterns, warnings = [], []
    for text in texts:
        try:
            patterns.append(Pattern(text, compile_pattern(text)))
        except BadPattern as error:
            warnings.append(f"the pattern {text[:60]!r} is left out: {error}")
    return tuple(patterns), tuple(warnings)


def _unusable(why: str) -> Unprocessable:
    return Unprocessable(
        f"The skill cannot be used: {why}.",
        why=why,
        fix="Begin with `---`, lines such as `slug: my-skill`, `---`, and write the Markdown below.",
        code="bad_skill",
    )
