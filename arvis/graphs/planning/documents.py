"""The two documents of planning: the plan (PRD), which the planner updates, and the brief for one step of the plan.

Models write them between tags. Chats never show them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from arvis.config.yaml_text import UnreadableText, read_texts
from arvis.domain.dataclass import dataclass
from arvis.domain.markup import escape
from arvis.domain.regex import regex

FINAL_PRD = "FINAL_PRD"
BRIEF = "TECHNICAL_EXECUTION_BRIEF"

#: The maximum number of characters in a plan, a brief, and the front matter of a plan.
LONGEST_PRD = 24_000
LONGEST_BRIEF = 8_000
_LARGEST_FRONT = 4_000

_LINES = ("slug", "title", "section", "category")
_FENCE = regex(r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
#: A document in a code block, and the empty code block that remains after the document was removed.
_WRAPPED = regex(r"\A```[\w-]*[ \t]*\r?\n(?P<inner>.*?)(?:\r?\n```)?[ \t]*\Z", re.DOTALL)
_EMPTY_BLOCK = regex(r"^```[\w-]*\s*(?:^```[ \t]*$|\Z)", re.MULTILINE)
_STEP = regex(
    r"^(?P<lead>[ \t]*[-*] \[)[ xX](?P<rest>\][ \t]+(?P<number>\d{1,3})[.)][ \t]+(?P<text>.*))$", re.MULTILINE
)
_TICKED = regex(r"^[ \t]*[-*] \[[xX]\][ \t]+\d{1,3}[.)][ \t]+(?P<text>.*)$", re.MULTILINE)
_HEADING = regex(r"^[#*_ \t]{0,8}Technical Execution Brief\b", re.IGNORECASE | re.MULTILINE)
_OWN_TAGS = regex(rf"<(?=/?(?:{FINAL_PRD}|{BRIEF}))", re.IGNORECASE)


def _blocks_of(name: str) -> re.Pattern[str]:
    """Return a pattern for the blocks between tags with this name. A block without a closing tag ends at the next
    opening tag or at the end of the reply, because a reply may be cut off."""
    return regex(
        rf"<{name}\b[^<>]{{0,80}}>(?P<inner>.*?)(?:</{name}[ \t]*>|(?=<{name}\b)|(?:</?[A-Z_]*)?\Z)",
        re.IGNORECASE | re.DOTALL,
    )


_PRDS, _BRIEFS = _blocks_of(FINAL_PRD), _blocks_of(BRIEF)
_STRAY = regex(rf"</?(?:{FINAL_PRD}|{BRIEF})\b[^<>]{{0,80}}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Drafted:
    """The parts of a planner's reply."""

    #: The plan, or empty.
    prd: str
    #: The reason why the plan cannot be used; empty if it can be used.
    flaw: str
    #: The other text, which is for people.
    chatter: str


def read_draft(reply: str) -> Drafted:
    """Read a planner's reply. Its last block that is not empty is the plan. If a reply has no such block, none of its
    text is for people, because the text may be a plan without tags."""
    blocks = [found["inner"].strip() for found in _PRDS.finditer(reply)]
    written = [_unwrapped(block) for block in blocks if block]
    if not written:
        return Drafted("", f"The reply contains no <{FINAL_PRD}> block with a plan.", "")
    prd = written[-1][:LONGEST_PRD]
    return Drafted(prd, flaw_of(prd), without_documents(reply))


def flaw_of(prd: str) -> str:
    """Return a sentence about the first problem of the plan's front matter, or "" if the front matter is complete."""
    found = _FENCE.match(prd)
    if found is None:
        return "The PRD must begin with YAML front matter between two lines `---`."
    try:
        front = read_texts(found["front"][:_LARGEST_FRONT])
    except UnreadableText as error:
        return f"The front matter cannot be read: {error.text}."
    if not isinstance(front, dict):
        return "The front matter must be `key: value` lines."
    missing = [name for name in _LINES if not (isinstance(front.get(name), str) and front[name].strip())]
    if not _tags(front.get("tags")):
        missing.append("tags (at least one)")
    return f"The front matter lacks {', '.join(missing)}." if missing else ""


def _tags(given: Any) -> list[str]:
    texts = given.split(",") if isinstance(given, str) else given
    return [text for text in texts if isinstance(text, str) and text.strip()] if isinstance(texts, list) else []


def read_brief(reply: str) -> str:
    """Return the last non-empty brief in tags. If there is none, return the text that begins at the heading of a brief,
    or "" if there is no such heading."""
    blocks = [_unwrapped(inner) for found in _BRIEFS.finditer(reply) if (inner := found["inner"].strip())]
    if blocks:
        return blocks[-1][:LONGEST_BRIEF]
    heading = _HEADING.search(reply)
    return reply[heading.start() :].strip()[:LONGEST_BRIEF] if heading else ""


def _unwrapped(text: str) -> str:
    found = _WRAPPED.match(text)
    return found["inner"].strip() if found else text


def without_documents(text: str) -> str:
    """Return the text for people, without plans and briefs and without incomplete parts of them."""
    left = _STRAY.sub("", _BRIEFS.sub("", _PRDS.sub("", text)))
    return _EMPTY_BLOCK.sub("", left).strip()


def harmless(text: str) -> str:
    """Return untrusted text for a prompt, escaped so that no action tag or document tag in it has an effect."""
    return _OWN_TAGS.sub("\uff1c", escape(text))


# -- the numbered check boxes ------------------------------------------------------------------------------------------


def tick(prd: str, numbers: Collection[int]) -> str:
    """Return the plan with the check boxes `- [ ] 1. …` of these numbers ticked."""
    return _STEP.sub(lambda found: _boxed(found) if int(found["number"]) in numbers else found[0], prd)


def carry_ticks(old: str, new: str) -> str:
    """Return the new plan. Tick each step whose text equals the text of a ticked step in the old plan."""
    done = {_plain(found["text"]) for found in _TICKED.finditer(old)}
    return _STEP.sub(lambda found: _boxed(found) if _plain(found["text"]) in done else found[0], new)


def _boxed(found: re.Match[str]) -> str:
    return f"{found['lead']}x{found['rest']}"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
