"""The grammar of tags: their names, their markers and their forms.

A tag begins and ends with a marker: `[DELEGATE:bob]` and `[/DELEGATE]`, `<AGENT_DONE>` and `</AGENT_DONE>`. A marker
lies within one line, contains no second bracket, and has at most `LONGEST_MARKER` characters. Its letters are ASCII, in
upper or lower case. These rules ensure that two markers never overlap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from arvis.domain.regex import regex


class Form(Enum):
    """The ways in which a tag ends."""

    #: The tag ends at its closing marker.
    BLOCK = "block"
    #: The tag ends at its closing marker. A tag without a closing marker ends at the end of the line or at the next
    #: marker.
    LINE = "line"
    #: The tag consists of its opening marker. A closing marker in the same line is also removed.
    ALONE = "alone"
    #: The two markers enclose visible text, which stays. Only the markers are removed.
    HULL = "hull"


MEMORY = "MEMORY"
STATE = "STATE"
DELEGATE = "DELEGATE"
METADATA = "RESPONSE-METADATA"
DONE = "AGENT_DONE"
BLOCKED = "AGENT_BLOCKED"
CONTINUE = "AGENT_CONTINUE"
#: The executor of a plan writes these tags instead of `AGENT_DONE` and `AGENT_BLOCKED`.
EXECUTOR_DONE = "EXECUTOR_DONE"
EXECUTOR_BLOCKED = "EXECUTOR_BLOCKED"
HANDOVER = "HANDOVER"

#: The mark at the beginning of a line that separates the metadata of a reply from its text.
MESSAGE_MARK = "MESSAGE TO SEND:"

_SLUG = r":[A-Z0-9_-]{1,64}"
#: The times of a fact, each a date; a value in quotation marks is also accepted.
_TIMES = r"(?:[ ]{1,4}(?:FROM|UNTIL|EXPIRES)=[\"']?[A-Z0-9.:/-]{1,16}[\"']?){0,3}"
_KEY = r":[A-Z0-9_.-]{1,64}"
#: The pattern of an argument that names a schedule: printable ASCII, including spaces, without brackets.
_TITLE = r":[ -;=?-Z\\^-~]{1,64}"

#: The pattern of the argument and the form of each tag in square brackets.
_SQUARE: dict[str, tuple[str, Form]] = {
    MEMORY: (_SLUG + _TIMES, Form.LINE),
    STATE: (_KEY, Form.LINE),
    DELEGATE: (_SLUG + r"(?:[ ]report)?", Form.BLOCK),
    HANDOVER: (_SLUG, Form.BLOCK),
    "CREATE_AGENT": ("", Form.BLOCK),
    "UPDATE_AGENT": (_SLUG, Form.BLOCK),
    "PAUSE_AGENT": (_SLUG, Form.ALONE),
    "DELETE_AGENT": (_SLUG, Form.ALONE),
    "CREATE_CRON": ("", Form.BLOCK),
    "UPDATE_CRON": (_TITLE, Form.BLOCK),
    "DELETE_CRON": (_TITLE, Form.ALONE),
    "CREATE_HEARTBEAT": ("", Form.BLOCK),
    "UPDATE_HEARTBEAT": (_TITLE, Form.BLOCK),
    "DELETE_HEARTBEAT": (_TITLE, Form.ALONE),
    "CREATE_CLIENT": ("", Form.BLOCK),
    "LIST_AGENTS": ("", Form.ALONE),
    "LIST_CRONS": ("", Form.ALONE),
    "LIST_HEARTBEATS": ("", Form.ALONE),
    "LIST_CLIENTS": ("", Form.ALONE),
}

#: The pattern of the argument and the form of each tag in angle brackets.
_ANGLE: dict[str, tuple[str, Form]] = {
    DONE: ("", Form.BLOCK),
    BLOCKED: ("", Form.BLOCK),
    CONTINUE: ("", Form.BLOCK),
    EXECUTOR_DONE: ("", Form.BLOCK),
    EXECUTOR_BLOCKED: ("", Form.BLOCK),
    METADATA: ("", Form.BLOCK),
    "KEY_RESULT": ("", Form.BLOCK),
    "BLOCKER_REASON": ("", Form.BLOCK),
    "UNBLOCK_REQUIREMENTS": ("", Form.BLOCK),
    "STATUS_REPORT": ("", Form.BLOCK),
    "STATUS_MESSAGE": ("", Form.BLOCK),
    "CITATIONS": ("", Form.BLOCK),
    "ABORT_WORKFLOW": ("", Form.ALONE),
    "SPEAK": ("", Form.HULL),
    "CHANNEL": (r":[A-Z0-9_-]{1,64}", Form.HULL),
}

FORMS = {name: form for name, (_, form) in (_SQUARE | _ANGLE).items()}

#: The tags that `find_tags` returns. All other tags are only removed from the visible text.
READ_TAGS = frozenset(_SQUARE) | {DONE, BLOCKED, CONTINUE, EXECUTOR_DONE, EXECUTOR_BLOCKED, METADATA}

LONGEST_MARKER = 160

#: The names of the tags for each kind of bracket, as alternatives of a pattern.
OPENER_NAMES = {"[": "|".join(_SQUARE), "<": "|".join(_ANGLE)}

#: `_PLAIN` is a printable ASCII character except brackets. `_EXTRAS` matches further text in a marker, because models
#: sometimes add such text.
_PLAIN = r"[\t -;=?-Z\\^-~]"
_EXTRAS = rf"(?:[ \t]{_PLAIN}{{0,64}})?"

_Names = Mapping[str, tuple[str, Form]]


def _heads(names: _Names) -> str:
    return "|".join(f"{name}{argument}" for name, (argument, _) in names.items())


def _opening(names: _Names) -> str:
    """Return the pattern of the opening markers of these tags, which must all have the same kind of brackets. The only
    group of the pattern contains the name and the argument."""
    if names.keys() <= _SQUARE.keys():
        return rf"\[(?ai:(?P<square>{_heads(names)}))\]"
    return rf"<(?ai:(?P<angle>{_heads(names)}){_EXTRAS}/?)>"


def _closing(names: _Names) -> str:
    if names.keys() <= _SQUARE.keys():
        return rf"\[(?ai:/(?:{'|'.join(names)})(?::{_PLAIN}{{0,64}})?)\]"
    return rf"<(?ai:/(?:{_heads(names)})[ \t]{{0,8}})>"


_HULLS = {name: tag for name, tag in _ANGLE.items() if tag[1] is Form.HULL}
_NO_HULLS = {name: tag for name, tag in _ANGLE.items() if name not in _HULLS}

#: `BARE` matches one or more markers in a row that open no tag. These are closing markers, and all markers of the form
#: `HULL`.
_BARE = (_closing(_SQUARE), _closing(_ANGLE), rf"<(?ai:(?:{_heads(_HULLS)}){_EXTRAS}/?)>")
BARE = "|".join(f"{marker}(?:{'|'.join(_BARE)})*+" for marker in _BARE)

#: A marker that opens a tag of any form except `HULL`.
OPENING = f"{_opening(_SQUARE)}|{_opening(_NO_HULLS)}"

#: The opening and closing markers of each tag.
MARKERS_OF = {
    name: regex(f"{_opening({name: tag})}|{_closing({name: tag})}") for name, tag in (_SQUARE | _ANGLE).items()
}
LINE_END_OR_MARKER = regex(rf"\n|{BARE}|{OPENING}")
LINE_END_OR_MARKERS_OF = {name: regex(rf"\n|{own.pattern}") for name, own in MARKERS_OF.items()}


def opens(marker: re.Match[str]) -> bool:
    """Return whether this marker opens a tag. `<AGENT_DONE/>` opens a tag and also closes it."""
    return marker.lastgroup is not None


def name_of(opening: re.Match[str]) -> str:
    """Return the name in an opening marker, in capitals."""
    return opening[opening.lastgroup or 0].partition(":")[0].upper()


def argument_of(opening: re.Match[str]) -> str:
    """Return the text after the colon of an opening marker, unchanged; "" without a colon."""
    return opening[opening.lastgroup or 0].partition(":")[2]


# -- beginnings of markers ---------------------------------------------------------------------------------------------

_BEGINNING = regex(r"(?P<bracket>[\[<])/?(?P<name>[A-Z_-]*)(?P<more>[\t -;=?-Z\\^-~]*)", re.ASCII | re.IGNORECASE)


def _beginnings(names: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name[:length] for name in names for length in range(len(name) + 1))


_BEGINNINGS = {"[": _beginnings(_SQUARE), "<": _beginnings(_ANGLE)}

#: An incomplete marker counts as a marker if it contains at least this many letters of a tag's name.
_TELLING = 4


def unfinished(text: str) -> int:
    """Return the length of the incomplete marker at the end of a text, at most `LONGEST_MARKER`; 0 if there is none."""
    start = max(text.rfind("[", -LONGEST_MARKER), text.rfind("<", -LONGEST_MARKER))
    found = _BEGINNING.fullmatch(text, start) if start >= 0 else None
    if found is None:
        return 0
    name = found["name"].upper()
    known = name in FORMS if found["more"] else name in _BEGINNINGS[found["bracket"]]
    return len(text) - start if known else 0


def is_recognisable(beginning: str) -> bool:
    """Return whether an incomplete marker at the end of a reply has enough letters to count as a marker."""
    found = _BEGINNING.fullmatch(beginning)
    return found is not None and len(found["name"]) >= _TELLING
