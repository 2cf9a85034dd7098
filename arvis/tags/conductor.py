"""Tags that only a conductor may use: agents, crons, heartbeats, clients (behaviour 1.9).

This module only parses them. The gate decides whether an action is carried out; no tag at all can change permissions
(reliability.md T7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from arvis.domain.agents import CONDUCTOR
from arvis.domain.effects import CONDUCTOR_KINDS, EffectKind, Proposal
from arvis.domain.markup import Tag
from arvis.tags.blocks import Block, Entry, mapping, nested, split, value_of

CONDUCTOR_TAGS = {kind.name: kind for kind in CONDUCTOR_KINDS}


class _Type(Enum):
    TEXT = "a text"
    LINES = "a text of one line or several"
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
#: The most problems reported for one tag, and the most characters of them together.
_TOLD, _LONGEST_PROBLEM = 3, 300

#: Tags cannot change permissions; these keys are listed so that they end a nested block like any other key.
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
        problems.append("no tag makes a conductor")
    name = subject or str(fields.get("slug") or fields.get("name") or "")
    return Proposal(ordinal, kind, name, fields, _told(problems))


def _told(problems: Sequence[str]) -> str | None:
    """Return the first problems; the others are reported after these are fixed."""
    told = "; ".join(problems[:_TOLD])
    more = f"; and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
    return f"{told[: _LONGEST_PROBLEM - len(more)]}{more}" or None


def _read(block: Block, types: Mapping[str, _Type]) -> tuple[dict[str, Any], list[str]]:
    fields: dict[str, Any] = {}
    problems = [f"the line “{_short(line)}” has no key" for line in block.stray]
    problems += [f"`{_short(key)}` occurs twice" for key in block.twice]
    for key, entry in block.entries.items():
        name = _OTHER_NAMES.get(key, key)
        if key in _RIGHTS:
            problems.append(f"`{key}` cannot be set by a tag")
        elif name not in types:
            problems.append(f"`{_short(key)}` is not known here")
        elif name in fields:
            problems.append(f"`{name}` occurs twice")
        else:
            value, fits = _typed(entry, types[name])
            fields[name] = value
            if not fits:
                problems.append(f"`{key}` must be {types[name].value}")
    return fields, problems


def _typed(entry: Entry, wanted: _Type) -> tuple[Any, bool]:
    """The value, and whether it is what it must be. A text may look like a number and stays a text."""
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
        return ["it names nothing to change"]
    return [f"`{name}` is missing" for name in _REQUIRED.get(kind, ()) if not fields.get(name)]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
