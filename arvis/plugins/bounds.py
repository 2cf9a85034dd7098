"""Limits for the results of plugins. Anything above a limit is cut or left out, so that no plugin can fill a prompt or
the database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from arvis.domain.dataclass import replace
from arvis.domain.plugins import (
    Addition,
    AgentInput,
    AttributeSpec,
    CommandReply,
    Item,
    PluginBlock,
    PluginCommand,
    ResponseResult,
)
from arvis.domain.regex import regex
from arvis.extensions import risky_tools

#: The maximum numbers of characters of a text, of a heading, and of a description.
LONGEST = 8_000
LONGEST_HEADING = 100
LONGEST_ABOUT = 500
_MOST_BLOCKS = 4
_MOST_ITEMS = 20
_MOST_ATTRIBUTES = 10
_MOST_TOOLS = 50
_MOST_COMMANDS = 20
_MOST_ARGUMENTS = 5
_MOST_FILES = 10

#: The forms of attribute names and types that `tags/tags.py` reads, and of command names that chat platforms accept.
_ATTRIBUTE = regex(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_TYPE = regex(r"[A-Za-z][A-Za-z0-9:_]{0,31}", re.ASCII)
_COMMAND = regex(r"[a-z][a-z0-9_]{0,31}", re.ASCII)


def blocks(found: Sequence[PluginBlock]) -> tuple[PluginBlock, ...]:
    """Return at most `_MOST_BLOCKS` non-empty blocks, with at most `LONGEST` characters together."""
    room, kept = LONGEST, []
    for block in islice(found, _MOST_BLOCKS):
        content = str(block.content).strip()[:room]
        room -= len(content)
        if content:
            kept.append(replace(block, heading=_line(block.heading, LONGEST_HEADING), content=content))
    return tuple(kept)


def addition(found: Addition | None) -> Addition | None:
    if found is None:
        return None
    room, items = LONGEST, []
    for item in islice(found.items, _MOST_ITEMS):
        parts = []
        for part in item.content:
            parts.append(str(part)[:room])
            room -= len(parts[-1])
        keep = True if item.keep is True else int(item.keep)
        items.append(Item(tuple(part for part in parts if part), bool(item.shown), keep))
    # Keep one whitespace character at the end of the heading, if there is one.
    heading = _line(found.heading, LONGEST_HEADING) + found.heading[len(found.heading.rstrip()) :][:1]
    return Addition(heading, tuple(item for item in items if item.content), bool(found.outside))


def attributes(found: Sequence[AttributeSpec]) -> tuple[AttributeSpec, ...]:
    """Return the attributes within the limits. Raise `ValueError` for a name or type that a reply cannot contain."""
    kept = []
    for spec in islice(found, _MOST_ATTRIBUTES):
        if not _ATTRIBUTE.fullmatch(spec.name) or not _TYPE.fullmatch(spec.type):
            raise ValueError(f"{spec.name!r} of the type {spec.type!r} cannot be an attribute")
        kept.append(replace(spec, description=_line(spec.description, LONGEST_ABOUT), required=bool(spec.required)))
    return tuple(kept)


def tools(found: Sequence[str], *, harmless: bool = False) -> tuple[str, ...]:
    """Return the names within the limit. Raise `ValueError` if a harmless plugin adds a tool that is not harmless."""
    kept = tuple(str(name) for name in islice(found, _MOST_TOOLS))
    if harmless and (risky := risky_tools(kept)):
        raise ValueError(f"a plugin that is declared as harmless cannot add the tools {', '.join(sorted(risky))}")
    return kept


def commands(found: Sequence[PluginCommand]) -> tuple[PluginCommand, ...]:
    """Return the commands within the limits. Raise `ValueError` for a name that cannot be typed."""
    kept = []
    for command in islice(found, _MOST_COMMANDS):
        if not _COMMAND.fullmatch(command.name):
            raise ValueError(f"{command.name!r} cannot be the name of a command")
        about = _line(command.description, LONGEST_HEADING)
        kept.append(PluginCommand(command.name, about, tuple(command.arguments[:_MOST_ARGUMENTS])))
    return tuple(kept)


def outcome(found: AgentInput | CommandReply) -> AgentInput | CommandReply:
    """Return the result of a command, cut to `LONGEST` characters. Raise `TypeError` if it is neither `AgentInput` nor
    `CommandReply`, and `ValueError` if its text is empty."""
    if not isinstance(found, AgentInput | CommandReply):
        raise TypeError("a command must return AgentInput or CommandReply")
    text = found.text.strip()[:LONGEST]
    if not text:
        raise ValueError("the result of a command has no text")
    return replace(found, text=text)


def response(found: ResponseResult) -> ResponseResult:
    files = tuple(dict.fromkeys(str(path) for path in found.files))[:_MOST_FILES]
    return ResponseResult(files, tuple(_line(each, LONGEST_ABOUT) for each in islice(found.problems, _MOST_FILES)))


def _line(text: str, most: int) -> str:
    return " ".join(text.split())[:most]
