"""Chooses the skills for a message (behaviour.md 1.8): few, and only those that its own words name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from arvis.domain.text import storable
from arvis.skills.patterns import Matches, compile_once
from arvis.skills.skill import Skill

#: The most skills, and the most tokens of them together.
MOST_SKILLS = 3
MOST_TOKENS = 4_000

_HEADING = "## Skills for this request"
#: Characters of a message that are looked at, and how many turns before it.
_LOOKED_AT = 16_000
_EARLIER_TURNS = 2
_KEYWORD, _PATTERN = 1.0, 2.0
_EARLIER = 0.5


@dataclass(frozen=True, slots=True)
class Chosen:
    """`text` is in the prompt unchanged ("" if no skill fits)."""

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
    """The best skills for a message, the best first. `earlier` are the texts of the turns before, the last one last;
    `tools` the names of the agent's own; `estimate` counts tokens. One that would not fit is passed over."""
    ranked = ranking([skill for skill in skills if usable(skill, tools)], message, earlier)
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
    """Return the skills with a score, the best first, equal ones by slug."""
    candidates = tuple(skills)
    may_match = compile_once(tuple(pattern.text for skill in candidates for pattern in skill.patterns))
    looks = [(1.0, look(message, may_match))]
    looks += [(_EARLIER, look(text, may_match)) for text in earlier[-_EARLIER_TURNS:]]
    scores = [(sum(weight * score(skill, each) for weight, each in looks), skill) for skill in candidates]
    found = [(points, skill) for points, skill in scores if points > 0]
    return [skill for _, skill in sorted(found, key=lambda each: (-each[0], each[1].slug))]


@dataclass(frozen=True, slots=True)
class Look:
    """A text prepared for matching: unchanged, in lower case, and if any pattern of all skills may match it."""

    text: str
    lowered: str
    may_match: bool


def look(text: str, may_match: Matches) -> Look:
    looked_at = storable(text[:_LOOKED_AT])
    return Look(looked_at, looked_at.casefold(), may_match(looked_at))


def score(skill: Skill, seen: Look) -> float:
    """A point for each keyword that it contains, two for each pattern."""
    keywords = sum(keyword in seen.lowered for keyword in skill.keywords)
    patterns = 0
    if seen.may_match and skill.may_match(seen.text):
        patterns = sum(pattern.matches(seen.text) for pattern in skill.patterns)
    return keywords * _KEYWORD + patterns * _PATTERN


def usable(skill: Skill, tools: Sequence[str]) -> bool:
    """Return whether the agent has a tool for every kind of tool that the skill needs."""
    return all(
        any(needed.casefold() in tool.casefold() or tool.casefold() in needed.casefold() for tool in tools)
        for needed in skill.required_tools
    )
