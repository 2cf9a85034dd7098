"""The remarks about a skill that an owner reads before trusting it.

The scan finds lines that an owner should check; it proves nothing. It searches all texts for characters that are not
visible, and for words by which a text commands a model, hides comments or demands secrets. It searches all scripts for
network access, secrets, the start of programs, hidden code and deletions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.text import presentable
from arvis.skills.skill import Skill

#: The maximum number of remarks, of remarks of one kind about one file, and of characters of a line that are searched.
MOST_REMARKS = 200
_MOST_ALIKE = 3
_LONGEST_LINE = 4_000

_PROGRAMS = frozenset(
    {".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1", ".php", ".lua"}
)

_TEXTS = {
    what: regex(pattern, re.IGNORECASE)
    for what, pattern in {
        "asks to ignore or replace rules": (
            r"\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(instruction|rule|prompt|guideline|restriction|polic)"
        ),
        "asks to keep something from the person": (
            r"\b(do not|don't|never|without)\b.{0,20}\b(tell|inform|mention|ask|notif|show|telling|informing|asking)\w*\b.{0,30}"
            r"\b(user|person|owner|human)\b"
        ),
        "speaks as the system": r"<\|im_|<<SYS>>|\[/?INST\]|^\s*system\s*:|you are now\b",
        "has a comment that a rendered page does not show": r"<!--",
        "names secrets or private files": (
            r"\b(api[_ -]?keys?|passwords?|private keys?|secret[_ ]keys?|access tokens?|credentials?)\b|\.ssh\b|\.aws\b|\.env\b|"
            r"id_rsa|/etc/(passwd|shadow)|\bget_variable\b"
        ),
        "downloads and runs a program": r"\b(curl|wget)\b.{0,200}\|\s*(sudo\s+)?\w*sh\b|\biex\b.{0,40}\b(iwr|downloadstring)\b",
    }.items()
}
_SCRIPTS = {
    what: regex(pattern, re.IGNORECASE)
    for what, pattern in {
        "uses the network": (
            r"\b(requests|urllib|httpx|aiohttp|socket|http\.client|ftplib|smtplib|paramiko|axios|net\.connect|fetch)\b|"
            r"\b(curl|wget|nc|ncat|ssh|scp|telnet)\s|/dev/tcp/|https?://"
        ),
        "reads environment variables": r"\bos\.environ\b|\bgetenv\b|\bprocess\.env\b|\bprintenv\b|\benv\s*\|",
        "starts programs": r"\b(subprocess|os\.system|os\.popen|pty\.spawn|child_process|exec[lv]p?e?)\b",
        "runs code that it builds": r"\b(eval|exec)\s*\(|\b(marshal|pickle)\.loads?\b|\bFunction\s*\(",
        "contains encoded text": r"\b(b64decode|base64\s+(-d|--decode)|fromhex|unhexlify|atob)\b|[A-Za-z0-9+/]{200,}",
        "deletes files": r"\brm\s+-\w*r|\brmtree\b|\bunlink(Sync)?\b|\bos\.remove\b|\bmkfs\b|\bdd\s+if=",
        "installs packages": r"\b(pip3?|npm|npx|uvx?|gem|cargo|apt(-get)?|brew)\s+(install|add|i)\b",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Remark:
    """A line or file that an owner should check."""

    path: str
    #: The number of the line; 0: the whole file.
    line: int
    #: The end of a sentence that begins with *This file*.
    text: str
    #: The line, without characters that are not visible.
    excerpt: str = ""


def remarks_on(skill: Skill, files: Mapping[str, bytes]) -> list[Remark]:
    """Return the remarks about a skill and its files (`files` includes `SKILL.md`), in the order of the files."""
    found = [*_on_skill(skill)]
    for path, data in files.items():
        found += _on_file(path, data)
        if len(found) >= MOST_REMARKS:
            break
    return found[:MOST_REMARKS]


def _on_skill(skill: Skill) -> Iterator[Remark]:
    if skill.allowed_tools:
        names = ", ".join(skill.allowed_tools)[:200]
        yield Remark("SKILL.md", 0, "names tools that its author expects; they give no permission", presentable(names))
    if skill.keywords or skill.patterns:
        yield Remark("SKILL.md", 0, "enters the prompt by itself if a message matches its triggers")
    for pattern in skill.patterns:
        if pattern.matches("") or pattern.matches("Hello, how are you today?"):
            yield Remark("SKILL.md", 0, "has a trigger that matches ordinary messages", presentable(pattern.text)[:200])
    for keyword in skill.keywords:
        if len(keyword) <= 2:  # noqa: PLR2004 - so short a word is inside many others
            yield Remark("SKILL.md", 0, "has a trigger that matches ordinary messages", presentable(keyword))


def _on_file(path: str, data: bytes) -> Iterator[Remark]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeError:
        yield Remark(path, 0, "is not a text file, so it was not searched")
        return
    program = PurePosixPath(path).suffix.lower() in _PROGRAMS or text.startswith("#!")
    rules = _TEXTS | _SCRIPTS if program else _TEXTS
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for what in _in_line(line, rules):
            counts[what] = counts.get(what, 0) + 1
            if counts[what] <= _MOST_ALIKE:
                yield Remark(path, number, what, presentable(line.strip())[:200])


def _in_line(line: str, rules: Mapping[str, re.Pattern[str]]) -> Iterator[str]:
    if presentable(line.replace("\t", " ")) != line.replace("\t", " "):
        yield "contains characters that are not visible"
    if len(line) > _LONGEST_LINE:
        yield "has a line that is too long to be searched as a whole"
    part = line[:_LONGEST_LINE]
    for what, pattern in rules.items():
        if pattern.search(part):
            yield what
