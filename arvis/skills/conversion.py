"""Converts skills of the earlier form, one Markdown file each, to directories with a `SKILL.md`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import structlog

from arvis.config.yaml_text import write_text
from arvis.domain.errors import Unprocessable
from arvis.skills.skill import KEYWORDS, PATTERNS, REQUIRED_TOOLS, Skill, Source, read_skill
from arvis.skills.specification import SKILL_FILE, SKILL_FILES

log = structlog.get_logger(__name__)

#: The suffix that a file of the earlier form gets after its conversion.
EARLIER = ".earlier"


def convert(files: Iterable[Path]) -> None:
    """Convert these files. A file stays unchanged and in use in three cases: the specification cannot express it, a
    part of it is ignored, or the new files cannot be written. The file with the original text stays next to the new
    directory. A call after a crash completes the conversion."""
    for file in files:
        if file.is_symlink() or file.name in SKILL_FILES:
            continue
        try:
            text = standard_text(read_skill(file.read_text("utf-8"), stem=file.stem, source=Source.FOLDER))
            if text is not None and _converted(file, *text):
                log.info("skill_converted", file=file.name, now=f"{text[0]}/{SKILL_FILE}")
        except (OSError, UnicodeError, Unprocessable):
            continue  # the registry reports the problems of a file


def _converted(file: Path, slug: str, text: str) -> bool:
    target, draft = file.parent / slug, file.parent / f".{slug}.part"
    if not target.exists():
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        (draft / SKILL_FILE).write_text(text, encoding="utf-8")
        draft.rename(target)
    if not (target / SKILL_FILE).is_file() or (target / SKILL_FILE).read_text("utf-8") != text:
        return False
    file.rename(file.with_name(file.name + EARLIER))
    return True


def standard_text(skill: Skill) -> tuple[str, str] | None:
    """Return the name and the text of `SKILL.md` for a skill of the earlier form. Return None if the specification
    cannot express the skill, or if a part of the skill is ignored."""
    if skill.warnings or any("," in entry for entry in (*skill.keywords, *skill.required_tools)):
        return None
    metadata = {
        "title": skill.name,
        "category": skill.category,
        "author": skill.author,
        "version": skill.version,
        REQUIRED_TOOLS: ", ".join(skill.required_tools),
        KEYWORDS: ", ".join(skill.keywords),
        PATTERNS: "".join(f"{pattern.text}\n" for pattern in skill.patterns),
    }
    front = {
        "name": skill.slug,
        "description": skill.description or skill.name,
        "metadata": {key: value for key, value in metadata.items() if value},
    }
    text = f"---\n{write_text(front)}---\n{skill.body}\n"
    try:
        again = read_skill(text, stem=None, source=skill.source, folder=skill.slug)
    except Unprocessable:
        return None
    return (skill.slug, text) if _means_the_same(skill, again) else None


def _means_the_same(one: Skill, other: Skill) -> bool:
    fields = ("slug", "name", "category", "author", "version", "required_tools", "keywords", "body", "warnings")
    patterns = [[pattern.text for pattern in each.patterns] for each in (one, other)]
    return patterns[0] == patterns[1] and all(getattr(one, each) == getattr(other, each) for each in fields)
