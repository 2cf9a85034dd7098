"""The code in a reply: the elements for a script and its packages, inside the reply's metadata block.

The tokenizer finds the block, so that an example in fenced code or in the body of another tag is never run. The
elements are read from the raw text, because a script may be longer than the tokenizer's limit for a tag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from textwrap import dedent

from arvis.domain.dataclass import dataclass
from arvis.domain.markup import find_tags, visible
from arvis.domain.markup_grammar import MARKERS_OF, MESSAGE_MARK, METADATA, OPENING, name_of, opens
from arvis.domain.regex import regex

LIBRARIES, SCRIPT = "pip-dependencies-to-install", "execution-code"

#: The maximum number of opening tags of metadata blocks that are examined.
_MOST_BLOCKS = 16

_OPENING = regex(OPENING)
_PROBE = "<response-metadata>?</response-metadata>"

_NAMES = ("attributes", LIBRARIES, SCRIPT)
_CLOSING = {name: regex(rf"</{name}[ \t]*>", re.ASCII | re.IGNORECASE) for name in _NAMES}
_ELEMENT = regex(rf"<(?P<name>{'|'.join(_NAMES)})[ \t]*>", re.ASCII | re.IGNORECASE)
_CDATA = regex(r"\s*<!\[CDATA\[(?P<text>.*)\]\]>\s*", re.DOTALL)
_FENCE = regex(r"(?:[^\S\n]*\n)*[^\S\n]*(`{3,}|~{3,})[\w+-]*[^\S\n]*\n(?P<text>.*)\n[^\S\n]*\1\s*", re.DOTALL)
_MARK = regex(rf"(?m:^)[^\S\n]*{MESSAGE_MARK}")


@dataclass(frozen=True, slots=True)
class Code:
    """The script that a reply asks to run, and the text that people may read. The text is empty if the line `MESSAGE
    TO SEND:` is missing."""

    script: str
    libraries: tuple[str, ...]
    text: str


def code_of(text: str) -> Code | None:
    """Return the script, packages and text of a reply. Return None if the reply asks to run nothing, or its metadata
    block is broken."""
    found = _block(text)
    if found is None:
        return None
    block, behind = found
    elements = _elements(block)
    script = _script(elements.get(SCRIPT, ""))
    if script is None:
        return None
    mark = _MARK.search(behind)
    # `visible` ends a text at the next metadata block only if a block precedes the text. So `_PROBE`, a complete block,
    # is put before the text.
    said = visible(_PROBE + behind[mark.end() :]) if mark else ""
    return Code(script, _listed(elements.get(LIBRARIES, "")), said)


def envelope(script: str, libraries: Sequence[str], said: str) -> str:
    """Return a reply that asks to run this script, in the simplest form."""
    wanted = f"<{LIBRARIES}>{', '.join(libraries)}</{LIBRARIES}>\n" if libraries else ""
    block = f"{wanted}<{SCRIPT}>\n{script}\n</{SCRIPT}>"
    return f"<response-metadata>\n{block}\n</response-metadata>\n{MESSAGE_MARK}\n{said}".rstrip()


def _block(text: str) -> tuple[str, str] | None:
    """Return the body of the first metadata block and the text after it; None if there is no complete block. An opening
    tag in a code example does not count. To recognize such a tag, replace each opening tag by a complete test tag
    (`_PROBE`) and check whether the tokenizer finds the test tag."""
    openings = (found for found in _OPENING.finditer(text) if name_of(found) == METADATA)
    for opening in islice(openings, _MOST_BLOCKS):
        if opening[0].endswith("/>"):
            continue
        ending = MARKERS_OF[METADATA].search(text, opening.end())
        if ending is None:
            return None
        if opens(ending):
            continue
        if any(tag.name == METADATA for tag in find_tags(text[: opening.start()] + _PROBE)):
            return text[opening.end() : ending.start()], text[ending.end() :]
    return None


def _elements(block: str) -> dict[str, str]:
    """Return the raw content of the first element of each name, by name. Return an empty dict if any element is not
    closed."""
    found: dict[str, str] = {}
    position = 0
    while (opening := _ELEMENT.search(block, position)) is not None:
        name = opening["name"].lower()
        closing = _CLOSING[name].search(block, opening.end())
        if closing is None:
            return {}
        found.setdefault(name, block[opening.end() : closing.start()])
        position = closing.end()
    return found


def _script(written: str) -> str | None:
    """Return the Python source to run, without the CDATA section or code fence around it and without the indent that
    all lines share. Return None if there is no script or the CDATA section is not closed."""
    if (plain := _CDATA.fullmatch(written)) is not None:
        written = plain["text"]
    elif written.lstrip().startswith("<![CDATA["):
        return None
    if (fenced := _FENCE.fullmatch(written)) is not None:
        written = fenced["text"]
    script = dedent(written).strip("\n").rstrip()
    # Python does not accept an indent before the first line. The first line has an indent if the script begins on the
    # line of its opening tag.
    return script.lstrip(" \t") or None


def _listed(written: str) -> tuple[str, ...]:
    if (plain := _CDATA.fullmatch(written)) is not None:
        written = plain["text"]
    return tuple(dict.fromkeys(filter(None, (each.strip() for each in re.split(r"[,\n]", written)))))
