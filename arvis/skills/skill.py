"""Skills: their format (Markdown with YAML front matter), and the choice of the skills whose triggers match a
message. The engine of their patterns is imported when the first pattern is compiled, because it takes 2 MB."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from arvis.config.yaml_text import UnreadableText, read_texts
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.regex import regex
from arvis.domain.text import storable

# -- patterns ----------------------------------------------------------------------------------------------------------
#
# People write these regular expressions. RE2 needs a time proportional to the length of the text, because it has no
# look-around and no back-references. So only the memory of a pattern is limited, not its time.


#: The maximum number of characters of a pattern, and of bytes that RE2 may use for a compiled pattern.
LONGEST_PATTERN = 300
_MEMORY = 1 << 20

Matches = Callable[[str], bool]


class BadPattern(Exception):
    """The pattern cannot be compiled. The error's text gives the reason."""


def compile_pattern(pattern: str) -> Matches:
    """Return a function that searches a text for the pattern and ignores case. Raise `BadPattern`."""
    if not 0 < len(pattern) <= LONGEST_PATTERN:
        raise BadPattern(f"it must have 1 to {LONGEST_PATTERN} characters")
    return _compile(pattern)


def compile_any(patterns: Sequence[str]) -> Matches:
    """Return a function that needs only one search. It returns True if a text may match one of these valid patterns. If
    the patterns are too large to compile together, the function always returns True."""
    try:
        return _compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else _never
    except BadPattern:
        return _always


def _compile(pattern: str) -> Matches:
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - see the module's docstring; it ships no types

    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        raise BadPattern(_reason(error)) from None
    return lambda text: compiled.search(text) is not None


def _never(_text: str) -> bool:
    return False


def _always(_text: str) -> bool:
    return True


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


#: The maximum number of bytes in a skill's file.
LARGEST_FILE = 262_144
SLUG = regex(r"[a-z0-9_-]{1,64}", re.ASCII)

_LARGEST_FRONT = 16_384
_LONGEST_LINE = 500
_LONGEST_KEYWORD = 100
_MOST_TOOLS, _MOST_KEYWORDS, _MOST_PATTERNS = 50, 200, 50
_FENCE = regex(r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class Source(StrEnum):
    """The source of a skill. If two skills have the same slug, the skill with the later source in this list is used."""

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
    #: A quick test: it returns False only if none of the patterns matches a text.
    may_match: Matches
    #: The Markdown text after the front matter.
    body: str
    source: Source
    #: Sentences about parts that are ignored, such as a pattern that cannot be compiled.
    warnings: tuple[str, ...] = ()
    #: The whole file.
    text: str = ""

    def __hash__(self) -> int:
        return hash(self.slug)

    @property
    def hash(self) -> str:
        """The hash of the whole file. Two skills with the same hash have the same text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def read_skill(text: str, *, stem: str | None, source: Source) -> Skill:
    """Parse the text of a skill. `stem` is the name of its file without `.md`; it is used if the text has no slug or
    name. Without a file `stem` is None, and the text must have a slug. Raise `Unprocessable` if the text is
    unusable."""
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
    """Return the values of the front matter, and the text after it."""
    found = _FENCE.match(text)
    if found is None:
        raise _unusable("it does not begin with front matter between two lines `---`")
    front = _values(found["front"]) or {}
    if not isinstance(front, dict):
        raise _unusable("its front matter contains no `key: value` lines")
    return front, text[found.end() :].strip()


def _values(front: str) -> Any:
    """Parse the front matter. Numbers and dates are read as text. YAML anchors are refused, because with them a small
    text can become very large."""
    if len(front) > _LARGEST_FRONT:
        raise _unusable(f"its front matter is longer than {_LARGEST_FRONT} characters")
    try:
        return read_texts(front)
    except UnreadableText as error:
        # `front` does not contain the first line of the file (`---`), so the line in the file is one higher.
        line = f" (line {error.line + 1})" if error.line is not None else ""
        raise _unusable(f"its front matter cannot be read: {error.text}{line}") from None


def _triggers(front: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the maps under `triggers`, which is a map or a list of maps."""
    given = front.get("triggers") or {}
    for trigger in given if isinstance(given, list) else [given]:
        if not isinstance(trigger, dict):
            raise _unusable("its `triggers` must be a map with `keywords` and `patterns`, or a list of such maps")
        yield trigger


def _strings(maps: list[Mapping[str, Any]], name: str, most: int) -> list[str]:
    """Return all texts that the maps contain under the key `name`. The value in each map is a text or a list of
    texts."""
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
        fix="Begin with a line `---`, then lines such as `slug: my-skill`, then another `---`, then the Markdown.",
        code="bad_skill",
    )


# -- the choice of skills for a message --------------------------------------------------------------------------------


#: The maximum number of skills in a prompt, and of tokens of all these skills together.
MOST_SKILLS = 3
MOST_TOKENS = 4_000

_HEADING = "## Skills for this request"
#: Only the first `_LOOKED_AT` characters of a message are searched. The last `_EARLIER_TURNS` earlier messages are
#: searched, too. A matching keyword or pattern in the message adds these points to a skill; in an earlier message it
#: adds half of them.
_LOOKED_AT = 16_000
_EARLIER_TURNS = 2
_KEYWORD, _PATTERN = 1.0, 2.0
_EARLIER = 0.5


@dataclass(frozen=True, slots=True)
class Chosen:
    """The skills chosen for a message. `text` is the part of the prompt with these skills; "" if no skill matches."""

    text: str
    slugs: tuple[str, ...]


NOTHING = Chosen("", ())


def choose(
    skills: Iterable[Skill],
    message: str,
    earlier: Sequence[str],
    tools: Sequence[str],
    estimate: Callable[[str], int],
) -> Chosen:
    """Choose the skills that match the message best, best first. A skill is skipped if it would exceed `MOST_TOKENS`.
    `earlier` contains the earlier messages, oldest first, and `tools` the names of the agent's tools. `estimate` counts
    the tokens of a text."""
    ranked = ranking([each for each in skills if not each.required_tools or usable(each, tools)], message, earlier)
    if not ranked:
        return NOTHING
    slugs: list[str] = []
    parts, left = [_HEADING], MOST_TOKENS - estimate(_HEADING)
    for skill in ranked:
        part = f"### {skill.name}\n\n{skill.body}"
        tokens = estimate(part)
        if tokens <= left and len(slugs) < MOST_SKILLS:
            parts.append(part)
            slugs.append(skill.slug)
            left -= tokens
    return Chosen("\n\n".join(parts), tuple(slugs)) if slugs else NOTHING


def ranking(skills: Iterable[Skill], message: str, earlier: Sequence[str]) -> list[Skill]:
    """Return the skills that match, best first; skills with the same score are ordered by slug."""
    candidates = tuple(skills)
    may_match, keywords = _of_all(candidates)
    texts = [(1.0, prepared(message, may_match))]
    texts += [(_EARLIER, prepared(text, may_match)) for text in earlier[-_EARLIER_TURNS:]]
    # Most messages match no skill, and this test needs much less time than the scores.
    if not any(text.may_match or [word for word in keywords if word in text.lowered] for _, text in texts):
        return []
    scores = [(sum(weight * score(skill, each) for weight, each in texts), skill) for skill in candidates]
    found = [(points, skill) for points, skill in scores if points > 0]
    return [skill for _, skill in sorted(found, key=lambda each: (-each[0], each[1].slug))]


@lru_cache(maxsize=16)
def _of_all(skills: tuple[Skill, ...]) -> tuple[Matches, Sequence[str]]:
    """Return the combined test of all patterns, and all keywords. Cached, because most turns use the same skills."""
    patterns = [pattern.text for skill in skills for pattern in skill.patterns]
    return compile_any(patterns), [word for skill in skills for word in skill.keywords]


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text prepared for matching. `may_match` is False only if no pattern of any skill matches it."""

    text: str
    lowered: str
    may_match: bool


@lru_cache(maxsize=512)
def prepared(text: str, may_match: Matches) -> PreparedText:
    """Return the prepared text. Cached, because a message is an earlier message of the next turns."""
    beginning = storable(text[:_LOOKED_AT])
    return PreparedText(beginning, beginning.casefold(), may_match(beginning))


def score(skill: Skill, text: PreparedText) -> float:
    """Return the score of a skill for a text: one point for each keyword in the text, two for each pattern that
    matches."""
    keywords = sum(keyword in text.lowered for keyword in skill.keywords)
    patterns = 0
    if text.may_match and skill.may_match(text.text):
        patterns = sum(pattern.matches(text.text) for pattern in skill.patterns)
    return keywords * _KEYWORD + patterns * _PATTERN


def usable(skill: Skill, tools: Sequence[str]) -> bool:
    """Return True if the agent has every tool that the skill requires. A required name and a tool's name match if one
    contains the other; case is ignored."""
    return all(
        any(needed.casefold() in tool.casefold() or tool.casefold() in needed.casefold() for tool in tools)
        for needed in skill.required_tools
    )
