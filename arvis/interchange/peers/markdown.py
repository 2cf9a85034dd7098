"""Converts Markdown files to facts, prompts and skills."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from arvis.config.yaml_text import UnreadableText, read_texts
from arvis.domain.agents import LONGEST_PROMPT
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.memory import Category
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.interchange.format import PersonRef
from arvis.interchange.peers.draft import Draft, slug_of
from arvis.memory.service import MOST_LETTERS

_MOST_KEYWORDS = 20
_LEAST_KEYWORD = 4
_COMMENT = regex(r"<!--.*?-->", re.DOTALL)
_HEADING = regex(r"#{1,6}\s+(.+)")
_ITEM = regex(r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_CHECKED, _UNCHECKED = regex(r"\[[xX]\]\s+"), regex(r"\[ \]")
_RULE = regex(r"\s*([-*_])(\s*\1){2,}\s*")
#: Parts of a template that are still empty: an empty text or a text in brackets, each with or without a label, and
#: notes about the file itself.
_BLANK = regex(r"(?:[^:()]{1,60}:\**\s*)?(?:\([^()]*\)|\s*)|\*(?:This|Edit this) file [^*]+\*", re.DOTALL)
_FRONT = regex(r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_WORD = regex(r"[^\W_]+")
#: Words that are not used as keywords, because they do not describe a kind of work.
_COMMON = (
    "about after also and any anything are based before between can create every everything files for from have help "
    "how into make more need needs not over skill some that the their them then these they this through tool tools use "
    "used user users uses using via want wants what when where which while will with without work your "
)


@dataclass(frozen=True, slots=True)
class Memories:
    """The properties that all facts of a file share. `person` is the person whom the facts are about. `category`
    applies to facts that have no special heading."""

    agent: str
    category: Category
    person: PersonRef | None
    at: int
    #: A text that is put before each fact, such as the date of a diary.
    before: str = ""


def add_memories(draft: Draft, text: str, memories: Memories) -> None:
    for heading, content in _entries(text):
        project = "project" in heading.lower() and memories.category is Category.LEARNED_PATTERN
        category = Category.PROJECT_CONTEXT if project else memories.category
        words = ": ".join(filter(None, [heading, content]))
        add_entry(draft, words, replace(memories, category=category))


def add_entry(draft: Draft, text: str, memories: Memories) -> None:
    """Add a text as one fact, or as several facts if it is too long for one."""
    for piece in _pieces(f"{memories.before}: {text}" if memories.before else text):
        draft.fact(memories.agent, memories.category, piece, memories.person, memories.at)


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield each list entry and each paragraph, with the heading above it. A heading of the first level counts as a
    title and is ignored."""
    heading = ""
    for block in _blocks(_COMMENT.sub("", text)):
        found = _HEADING.fullmatch(block)
        if found is not None:
            heading = "" if block.startswith("# ") else found[1].rstrip(" #")
        else:
            content = _CHECKED.sub("", block, count=1).strip()
            if not _UNCHECKED.match(content) and not _BLANK.fullmatch(content) and not _RULE.fullmatch(content):
                yield heading, content


def _blocks(text: str) -> Iterator[str]:
    """Yield headings, list entries with their continuation lines, and paragraphs."""
    lines = list[str]()
    depth, fenced = -1, False
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        item = None if fenced else _ITEM.fullmatch(line)
        indented = len(line) - len(line.lstrip())
        ends = not fenced and (not line.strip() or _HEADING.fullmatch(line) or (item and indented <= max(depth, 0)))
        if ends and lines:
            yield "\n".join(lines).strip()
            lines, depth = [], -1
        if not fenced and _HEADING.fullmatch(line):
            yield line.strip()
        elif item is not None and not lines:
            lines, depth = [item[2]], len(item[1])
        elif line.strip() or fenced:
            lines.append(line.rstrip())
    if lines:
        yield "\n".join(lines).strip()


def _pieces(text: str) -> Iterator[str]:
    """Divide a text between words into parts that are short enough for one fact."""
    while len(text) > MOST_LETTERS:
        end = max(text.rfind(mark, 0, MOST_LETTERS) for mark in ("\n", ". ", " "))
        end = end + 1 if end > 0 else MOST_LETTERS
        yield text[:end].strip()
        text = text[end:]
    if text.strip():
        yield text.strip()


def tasks_in(text: str) -> str:
    """Return the text of a list of tasks without comments. Return an empty text if the list contains only headings."""
    plain = _COMMENT.sub("", text).strip()
    return plain if any(line.strip() and not _HEADING.match(line) for line in plain.splitlines()) else ""


def prompt_of(draft: Draft, agent: str, files: Sequence[str]) -> str:
    """Return the instructions of an agent, which are the texts of several files. If a text would exceed the limit,
    leave it out and add a remark."""
    texts = [(name, text.strip()) for name in files if (text := draft.home.text(name)) is not None and text.strip()]
    kept, size = list[str](), 0
    for name, text in texts:
        size += len(storable(text).encode()) + 2
        if size > LONGEST_PROMPT:
            why = f"with this file, the prompt would exceed {LONGEST_PROMPT} bytes; move a part of the prompt into a skill"
            draft.home.leave("agents", f"{agent}: {name}", why)
            size -= len(storable(text).encode()) + 2
        else:
            kept.append(text)
    return "\n\n".join(kept)


def add_skills(draft: Draft, folder: str, *, off: Collection[str] = (), own: Collection[str] = ()) -> int:
    """Add the skills below a folder. Each folder with a file SKILL.md is a skill. `off` are the names of skills that
    are turned off. Skills in `own` belong to the program itself and are left out. Return the number of skills that were
    left out for this reason."""
    left = 0
    for name in draft.home.below(folder):
        label = name.rpartition("/")[0].rpartition("/")[2]
        hidden = any(part.startswith(".") for part in name.removeprefix(folder).split("/"))
        if name.rpartition("/")[2] == "SKILL.md" and not hidden:
            if label in own:
                left += 1
            else:
                _add_skill(draft, name, label, off)
    return left


def _add_skill(draft: Draft, file: str, label: str, off: Collection[str]) -> None:
    folder = file.rpartition("/")[0]
    if label in off:
        draft.home.leave("skills", label, "it is turned off in the other program")
        return
    text = draft.home.text(file)
    if text is None:
        return
    try:
        front, body = _divided(text)
    except UnreadableText as error:
        draft.home.leave("skills", label, f"its front matter cannot be read: {error.text}")
        return
    name = front.get("name")
    slug = slug_of(name if isinstance(name, str) and name else label)
    if not slug or not body.strip():
        draft.home.leave("skills", label, "it has no name or no text")
    elif not draft.once("skills", slug):
        draft.home.leave("skills", label, f"another skill is also called {slug}; rename one of them ({file})")
    elif draft.add("skills", slug, slug=slug, text=_skill_text(slug, front, body)):
        others = [each for each in draft.home.below(folder) if each != file]
        if others:
            why = (
                f"{len(others)} files beside SKILL.md are not imported, but the skill may refer to them; "
                "add the whole folder with `arvis skills create` instead"
            )
            draft.home.leave("skills", slug, why)


def _divided(text: str) -> tuple[dict[str, object], str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    front = read_texts(found["front"])
    return front if isinstance(front, dict) else {}, text[found.end() :]


def _skill_text(slug: str, front: dict[str, object], body: str) -> str:
    """Return the text of a skill. Its keywords come from its name, tags and description, because the other programs
    have no keywords: there, the model chooses a skill by its description."""
    described = front.get("description")
    description = " ".join(described.split()) if isinstance(described, str) else ""
    words = dict.fromkeys(
        word.lower()
        for text in (slug.replace("-", " "), *_tags(front), description)
        for word in _WORD.findall(text)
        if len(word) >= _LEAST_KEYWORD and f"{word.lower()} " not in _COMMON
    )
    name = front.get("name")
    fields: dict[str, object] = {"slug": slug, "name": name if isinstance(name, str) and name else slug}
    fields |= {"description": description[:490]} if description else {}
    fields |= {key: value for key in ("author", "version") if isinstance(value := front.get(key), str) and value}
    fields["triggers"] = {"keywords": list(words)[:_MOST_KEYWORDS]}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", body.strip(), ""])


def _tags(front: dict[str, object]) -> Iterator[str]:
    for value in [front.get("tags"), *_nested(front.get("metadata"))]:
        for tag in value if isinstance(value, list) else [value]:
            if isinstance(tag, str) and len(tag) <= 100:  # noqa: PLR2004 - a longer text is no tag
                yield tag


def _nested(metadata: object) -> Iterator[object]:
    if isinstance(metadata, dict):
        for value in metadata.values():
            if isinstance(value, dict):
                yield value.get("tags")
