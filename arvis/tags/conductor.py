"""Parses the tags that only a conductor may use. They are about agents, crons, heartbeats and clients.

The gate decides if an action is carried out. No tag can change permissions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from enum import Enum
from textwrap import dedent
from typing import Any

from arvis.domain.agents import CONDUCTOR
from arvis.domain.dataclass import dataclass
from arvis.domain.effects import CONDUCTOR_KINDS, EffectKind, Proposal
from arvis.domain.markup import Tag
from arvis.domain.regex import regex
from arvis.domain.text import strict_json

# -- the body of a tag: `key: value` lines -----------------------------------------------------------------------------
#
# An integer of 15 or more digits is read as text, because it is probably the id of a channel. Every other value is read
# as JSON, or as text if it is not JSON.
#
# A key without a value begins a nested block. The block ends at the next line that begins, without indentation, with a
# key of this tag; other lines of the block may also contain colons. A nested block is JSON, a list of lines that begin
# with `- `, or text. The block of `personality` consists of keys and values.


_LINE = regex(r"(?P<key>[A-Za-z_]\w*)[ \t]*:(?P<value>.*)", re.ASCII)
_LONG_INTEGER = regex(r"[+-]?[0-9]{15,}")
_ITEM = "- "


@dataclass(slots=True)
class Entry:
    """The value of a key: the rest of the key's line (`value`), and the lines of its nested block."""

    value: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The complete value as text."""
        return "\n".join(filter(None, [self.value, dedent("\n".join(self.lines)).strip()]))


@dataclass(frozen=True, slots=True)
class Block:
    """The body of a tag. `entries` contains the values by key. `stray` are the lines that belong to no key. `twice` are
    the keys that occur more than once; their first value counts."""

    entries: dict[str, Entry]
    stray: list[str]
    twice: list[str]


def split(body: str, keys: Collection[str]) -> Block:
    """Split the body of a tag into entries, which begin at the lines with one of the `keys`. An unknown key outside a
    nested block also begins an entry, so that it can be reported."""
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
    """Read a value as JSON. Return long integers and text that is not JSON unchanged."""
    if _LONG_INTEGER.fullmatch(text):
        return text
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return text


def nested(text: str) -> Any:
    """Read a nested block as JSON. If it is not JSON and all its lines begin with `- `, return a list with one value
    for each line."""
    value = value_of(text)
    lines = text.split("\n")
    if isinstance(value, str) and all(line.startswith(_ITEM) for line in lines):
        return [value_of(line.removeprefix(_ITEM).strip()) for line in lines]
    return value


def mapping(text: str) -> Any:
    """Read lines of keys and values as a mapping. If the text has another form, return the result of `value_of`."""
    value = value_of(text)
    found = [_LINE.fullmatch(line.strip()) for line in text.split("\n")]
    if not isinstance(value, str) or not all(found):
        return value
    return {each["key"]: value_of(each["value"].strip()) for each in found if each}


CONDUCTOR_TAGS = {kind.name: kind for kind in CONDUCTOR_KINDS}


class _Type(Enum):
    TEXT = "a text"
    LINES = "a text of one or several lines"
    NAMES = "a list of names"
    LIST = "a list"
    MAP = "lines of keys and values"
    OBJECT = "an object"
    FLAG = "true or false"
    NUMBER = "a whole number"


_AGENT = {
    "slug": _Type.TEXT,
    "name": _Type.TEXT,
    "role": _Type.TEXT,
    "description": _Type.LINES,
    "prompt": _Type.LINES,
    "model": _Type.TEXT,
    "fallbacks": _Type.NAMES,
    "tools": _Type.NAMES,
    "status": _Type.TEXT,
    "channels": _Type.LIST,
    "personality": _Type.MAP,
    "project_path": _Type.TEXT,
    "graph": _Type.TEXT,
    "completion": _Type.TEXT,
    "on_new_message": _Type.TEXT,
    "timezone": _Type.TEXT,
    "plugins": _Type.NAMES,
    "helpers": _Type.NAMES,
    "skills": _Type.NAMES,
    "effort": _Type.TEXT,
    "context_tokens": _Type.NUMBER,
}
_SCHEDULE = {
    "agent": _Type.TEXT,
    "name": _Type.TEXT,
    "schedule": _Type.TEXT,
    "prompt": _Type.LINES,
    "channel": _Type.TEXT,
    "platform": _Type.TEXT,
    "timezone": _Type.TEXT,
    "script": _Type.OBJECT,
    "missed": _Type.TEXT,
    "enabled": _Type.FLAG,
    "graph": _Type.TEXT,
    "max_cycles": _Type.NUMBER,
    "grace": _Type.NUMBER,
    "model": _Type.TEXT,
    "effort": _Type.TEXT,
}
_CLIENT = {"name": _Type.TEXT, "slug": _Type.TEXT, "plan": _Type.TEXT}

_FIELDS: Mapping[EffectKind, Mapping[str, _Type]] = {
    EffectKind.CREATE_AGENT: _AGENT,
    EffectKind.UPDATE_AGENT: _AGENT,
    EffectKind.CREATE_CRON: _SCHEDULE,
    EffectKind.UPDATE_CRON: _SCHEDULE,
    EffectKind.CREATE_HEARTBEAT: _SCHEDULE,
    EffectKind.UPDATE_HEARTBEAT: _SCHEDULE,
    EffectKind.CREATE_CLIENT: _CLIENT,
}
_REQUIRED: Mapping[EffectKind, tuple[str, ...]] = {
    EffectKind.CREATE_AGENT: ("slug",),
    EffectKind.CREATE_CRON: ("agent", "schedule", "prompt"),
    EffectKind.CREATE_HEARTBEAT: ("agent",),
    EffectKind.CREATE_CLIENT: ("name", "slug"),
}
_CHANGES = frozenset({EffectKind.UPDATE_AGENT, EffectKind.UPDATE_CRON, EffectKind.UPDATE_HEARTBEAT})
_OF_AGENTS = frozenset({EffectKind.UPDATE_AGENT, EffectKind.PAUSE_AGENT, EffectKind.DELETE_AGENT})
_OTHER_NAMES = {
    "system_prompt": "prompt",
    "allowed_tools": "tools",
    "model_primary": "model",
    "model_fallbacks": "fallbacks",
}

_LONGEST_QUOTE = 40
#: The maximum number of problems that are reported for one tag, and the maximum length of the whole report in
#: characters.
_SHOWN, _LONGEST_PROBLEM = 3, 300

#: Keys that a tag must not set, because no tag can change permissions. Like known keys, they end a nested block, and they
#: are reported as a problem.
_RIGHTS = frozenset({"allow_users", "owner", "owners", "permissions", "paired", "principal"})


def read_conductor(tag: Tag, ordinal: int) -> Proposal:
    kind = CONDUCTOR_TAGS[tag.name]
    subject = tag.argument.strip().lower() if kind in _OF_AGENTS else tag.argument.strip()
    types = _FIELDS.get(kind)
    if tag.problem or types is None:
        return Proposal(ordinal, kind, subject, {}, tag.problem)
    block = split(tag.body, {*types, *_OTHER_NAMES, *_RIGHTS})
    fields, problems = _read(block, types)
    problems += _missing(kind, fields)
    if str(fields.get("role")).casefold() == CONDUCTOR:
        problems.append("tags cannot create a conductor")
    name = subject or str(fields.get("slug") or fields.get("name") or "")
    return Proposal(ordinal, kind, name, fields, _problem_text(problems))


def _problem_text(problems: Sequence[str]) -> str | None:
    """Return the first problems as one text, with the number of the remaining problems. Return None if there are no
    problems."""
    text = "; ".join(problems[:_SHOWN])
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return f"{text[: _LONGEST_PROBLEM - len(more)]}{more}" or None


def _read(block: Block, types: Mapping[str, _Type]) -> tuple[dict[str, Any], list[str]]:
    fields: dict[str, Any] = {}
    problems = [f"the line “{_short(line)}” has no key" for line in block.stray]
    problems += [f"`{_short(key)}` occurs twice" for key in block.twice]
    for key, entry in block.entries.items():
        name = _OTHER_NAMES.get(key, key)
        if key in _RIGHTS:
            problems.append(f"`{key}` cannot be set by a tag")
        elif name not in types:
            problems.append(f"`{_short(key)}` is not a key of this tag")
        elif name in fields:
            problems.append(f"`{name}` occurs twice")
        else:
            value, fits = _typed(entry, types[name])
            fields[name] = value
            if not fits:
                problems.append(f"`{key}` must be {types[name].value}")
    return fields, problems


def _typed(entry: Entry, wanted: _Type) -> tuple[Any, bool]:
    """Return the value, and True if it has the wanted type. A number that is wanted as text is returned as it was
    written."""
    text = entry.text
    match wanted:
        case _Type.TEXT | _Type.LINES:
            value = value_of(text)
            value = None if text == "null" else value if isinstance(value, str) else text
            return value, wanted is _Type.LINES or "\n" not in text
        case _Type.NAMES:
            value = nested(text) if text else []
            names = value if isinstance(value, list) else [value]
            return names, all(isinstance(each, str) and "\n" not in each for each in names)
        case _Type.MAP:
            value = mapping(text)
            return value, isinstance(value, str | dict)
        case _:
            value = nested(text)
            kinds = {_Type.LIST: list, _Type.OBJECT: dict, _Type.FLAG: bool, _Type.NUMBER: int}
            return value, isinstance(value, kinds[wanted]) and (wanted is _Type.FLAG or not isinstance(value, bool))


def _missing(kind: EffectKind, fields: Mapping[str, Any]) -> list[str]:
    if kind in _CHANGES and not fields:
        return ["it changes no field"]
    return [f"`{name}` is missing" for name in _REQUIRED.get(kind, ()) if not fields.get(name)]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
