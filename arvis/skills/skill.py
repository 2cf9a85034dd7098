"""Skills: their format (`SKILL.md`, Markdown with YAML front matter), and the choice of the skills whose triggers match
a message. The engine of their patterns is imported when the first pattern is compiled, because it takes 2 MB."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from arvis.config.yaml_text import UnreadableText, read_texts
from arvis.domain.agents import ALL_SKILLS
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.domain.tools import READ_SKILL
from arvis.skills.bundle import Bundle
from arvis.skills.specification import SKILL_FILE, errors_in, standard_of

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
    """Return a function that tests all of these valid patterns in one search. It returns True if a text may match one
    of them. If the patterns are too large to compile together, the function always returns True."""
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


#: The keys of `metadata` that Arvis reads. They have a prefix, because published skills use the plain words for other
#: purposes. Line ends separate their entries; commas also separate keywords and tools.
KEYWORDS, PATTERNS, REQUIRED_TOOLS = "arvis-keywords", "arvis-patterns", "arvis-required-tools"


@dataclass(frozen=True, slots=True)
class Skill:
    """A parsed skill."""

    #: The slug. In a skill that follows the specification, this is the field `name`.
    slug: str
    #: The title for people and in prompts.
    name: str
    description: str
    category: str
    author: str
    version: str
    required_tools: tuple[str, ...]
    #: The keywords, in lower case.
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
    license: str = ""
    compatibility: str = ""
    #: The tools that the author of the skill expects. Arvis only shows them: they give no permission.
    allowed_tools: tuple[str, ...] = ()
    #: True if the text follows the specification of Agent Skills; False for the earlier form of Arvis.
    standard: bool = False
    #: The sizes in bytes of the files of the skill by their paths, without `SKILL.md`.
    files: Mapping[str, int] = field(default_factory=dict)
    #: The digest of all files; "" for a skill that is only a text.
    digest: str = ""
    #: False: no owner has trusted this content, so the skill is not used.
    trusted: bool = True
    #: True if an owner has trusted a content that differs from the present one.
    changed: bool = False
    #: The address from which the skill was imported; "" for other skills.
    origin: str = ""
    #: The directory of the skill; None: the skill is only a text, or its files are in the database.
    folder: Path | None = None

    def __hash__(self) -> int:
        return hash(self.slug)

    @property
    def hash(self) -> str:
        """The hash of the whole skill. Two skills with the same hash have the same text and the same files."""
        return self.digest or hashlib.sha256(self.text.encode()).hexdigest()


def read_skill(text: str, *, stem: str | None, source: Source, folder: str | None = None) -> Skill:
    """Parse the text of a skill. `folder` is the name of the directory whose `SKILL.md` contains the text. `stem` is the
    name of a file of the earlier form without `.md`; it is used if the text has no slug or name. A text without a file
    has the earlier form if it has a slug. Raise `Unprocessable` if the text is unusable."""
    if len(text.encode(errors="replace")) > LARGEST_FILE:
        raise _unusable(f"it is larger than {LARGEST_FILE} bytes")
    front, body = _divided(storable(text))
    if not body:
        raise _unusable("there is no text after its front matter")
    if folder is None and (stem is not None or "slug" in front):
        return _earlier(front, body, stem, source, storable(text))
    return _standard(front, body, folder, source, storable(text))


def with_files(skill: Skill, bundle: Bundle, folder: Path | None = None) -> Skill:
    """Return the skill with the names and the digest of its files. `folder` is their directory."""
    files = {path: len(data) for path, data in bundle.files.items() if path != SKILL_FILE}
    return replace(skill, files=files, digest=bundle.digest if files else "", folder=folder)


def _standard(front: Mapping[str, Any], body: str, folder: str | None, source: Source, text: str) -> Skill:
    if errors := errors_in(front, folder):
        raise _unusable("; ".join(errors))
    read = standard_of(front)
    keywords = _entries(read.metadata, KEYWORDS, ",", _MOST_KEYWORDS)
    patterns, warnings = _compiled(_entries(read.metadata, PATTERNS, "\n", _MOST_PATTERNS))
    return Skill(
        slug=read.name,
        name=_line(read.metadata, "title") or read.name,
        description=read.description,
        category=_line(read.metadata, "category"),
        author=_line(read.metadata, "author"),
        version=_line(read.metadata, "version") or "1.0.0",
        required_tools=tuple(_entries(read.metadata, REQUIRED_TOOLS, ",", _MOST_TOOLS)),
        keywords=_distinct(keywords),
        patterns=patterns,
        may_match=compile_any([pattern.text for pattern in patterns]),
        body=body,
        source=source,
        warnings=(*read.warnings, *warnings),
        text=text,
        license=read.license,
        compatibility=read.compatibility,
        allowed_tools=read.allowed_tools,
        standard=True,
    )


def _entries(metadata: Mapping[str, str], key: str, separator: str, most: int) -> list[str]:
    """Return the entries of a value. Line ends and the separator divide them."""
    value = metadata.get(key, "").replace(separator, "\n")
    found = [entry.strip() for entry in value.split("\n") if entry.strip()]
    if len(found) > most:
        raise _unusable(f"it has more than {most} entries under `{key}`")
    return found


def _distinct(keywords: Iterable[str]) -> tuple[str, ...]:
    cleaned = (word.strip().casefold()[:_LONGEST_KEYWORD] for word in keywords)
    return tuple(dict.fromkeys(word for word in cleaned if word))


def _earlier(front: Mapping[str, Any], body: str, stem: str | None, source: Source, text: str) -> Skill:
    """Return a skill in the form that earlier releases of Arvis used."""
    slug = _line(front, "slug") or stem or ""
    if not SLUG.fullmatch(slug):
        raise _unusable("its `slug` must be 1 to 64 lower-case letters, digits, - or _")
    triggers = list(_triggers(front))
    patterns, warnings = _compiled(_strings(triggers, "patterns", _MOST_PATTERNS))
    return Skill(
        slug=slug,
        name=_line(front, "name") or stem or slug,
        description=_line(front, "description"),
        category=_line(front, "category"),
        author=_line(front, "author"),
        version=_line(front, "version") or "1.0.0",
        required_tools=tuple(_strings([front], "required_tools", _MOST_TOOLS)),
        keywords=_distinct(_strings(triggers, "keywords", _MOST_KEYWORDS)),
        patterns=patterns,
        may_match=compile_any([pattern.text for pattern in patterns]),
        body=body,
        source=source,
        warnings=warnings,
        text=text,
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
        fix="Begin with a line `---`, then `name: my-skill` and `description: …`, then another `---`, then the Markdown.",
        code="bad_skill",
    )


# -- the choice of skills for a message --------------------------------------------------------------------------------


#: The maximum number of skills in a prompt, and of tokens of all these skills together.
MOST_SKILLS = 3
MOST_TOKENS = 4_000
#: The maximum number of tokens of the list of an agent's skills.
LIST_TOKENS = 2_000

_LIST = f"## Your skills\n\nBefore you do work for which a skill is meant, read it with {READ_SKILL}."
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


def skills_of(assigned: Sequence[str], skills: Iterable[Skill]) -> list[Skill]:
    """Return the skills that an agent with this list of skills may use. An agent without a list may use every skill whose
    triggers match."""
    if not assigned or ALL_SKILLS in assigned:
        return list(skills)
    return [skill for skill in skills if skill.slug in assigned]


def choose(
    skills: Iterable[Skill],
    message: str,
    earlier: Sequence[str],
    tools: Sequence[str],
    estimate: Callable[[str], int],
    *,
    assigned: Sequence[str] = (),
) -> Chosen:
    """Choose the skills that match the message best, best first. A skill is skipped if it would exceed `MOST_TOKENS`.
    `earlier` contains the earlier messages, oldest first, and `tools` the names of the agent's tools. `estimate` counts
    the tokens of a text. If the agent has a list of skills (`assigned`), only these are chosen, and the text begins with
    their names and descriptions."""
    if assigned:
        skills = skills_of(assigned, skills)
    fitting = [each for each in skills if not each.required_tools or usable(each, tools)]
    listed = _listed(fitting, estimate) if assigned else ""
    ranked = ranking(fitting, message, earlier)
    if not ranked:
        return Chosen(listed, ()) if listed else NOTHING
    slugs: list[str] = []
    parts, left = [_HEADING], MOST_TOKENS - estimate(_HEADING) - (estimate(listed) if listed else 0)
    for skill in ranked:
        part = f"### {skill.name}\n\n{skill.body}"
        tokens = estimate(part)
        if tokens <= left and len(slugs) < MOST_SKILLS:
            parts.append(part)
            slugs.append(skill.slug)
            left -= tokens
    if not slugs:
        return Chosen(listed, ()) if listed else NOTHING
    return Chosen("\n\n".join([*([listed] if listed else []), *parts]), tuple(slugs))


def _listed(skills: Sequence[Skill], estimate: Callable[[str], int]) -> str:
    """Return the list of these skills with their descriptions. If not all descriptions fit into `LIST_TOKENS`, the
    remaining skills are only named or counted."""
    if not skills:
        return ""
    lines, left, more = [_LIST, ""], LIST_TOKENS - estimate(_LIST), 0
    for skill in skills:
        whole = f"- {skill.slug}: {skill.description}"
        line = next((each for each in (whole, f"- {skill.slug}") if estimate(each) < left - 10), None)
        if line is None:
            more += 1
            continue
        lines.append(line)
        left -= estimate(line) + 1
    return "\n".join([*lines, *([f"- … and {more} more"] if more else [])])


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
