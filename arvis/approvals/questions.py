"""Questions before a tool runs or a model changes something, and the meaning of the answers.

The question contains everything that will run, in a form in which nothing can hide: no invisible character, no change
of direction, no line that looks like ours, no run of blanks that pushes the rest out of sight.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.executions import Answer
from arvis.domain.tools import ToolCall

#: The most characters of a question: a person must be able to read what they approve.
LONGEST_QUESTION = 6_000

_LONGEST_NAME = 60
#: Unicode's default ignorable characters, as far as Python counts them as printable, and the blank pattern of
#: Braille.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BLANKS = re.compile(r" {9,}")


def question(call: ToolCall, *, tool: str, agent: str, asker: str, user_id: str) -> str | None:
    """Return the question, or None if it is too long to be shown completely."""
    lines = [line(name, value) for name, value in _items(call)]
    head = f"{_short(agent)} wants to use the tool {visible(tool)}."
    return _shown([head, *(["With:", *lines] if lines else ["It takes nothing."]), _asker(asker, user_id)])


def change_question(
    what: str, lines: Sequence[str], *, agent: str, asker: str, user_id: str, sources: Sequence[str]
) -> str | None:
    """Return the question about a change by an agent: `lines` show all of it, made by `line` and `change`; `sources`
    names the sources of the answer other than that person's words. Return None if it is too long to be shown
    completely."""
    head = f"{_short(agent)} wants to {what}."
    read = [f"Besides that person's messages it had read data from: {', '.join(sources)}."] if sources else []
    return _shown([head, *lines, _asker(asker, user_id), *read])


def line(name: str, value: Any) -> str:
    return f"  {visible(name)}: {_written(value)}"


def change(name: str, before: Any, after: Any) -> str:
    return f"  {visible(name)}: {_written(before)} → {_written(after)}"


def _is_seen(letter: str) -> bool:
    """Return whether a letter is printed as something. Python calls some printable that are blank, or that fonts leave out."""
    return letter.isprintable() and not _UNSEEN.match(letter)


def visible(text: str) -> str:
    """Return one line in which every character is visible."""
    shown = "".join(letter if _is_seen(letter) else letter.encode("unicode_escape").decode() for letter in text)
    return _BLANKS.sub(lambda blanks: f" [{len(blanks[0])} blanks] ", shown)


def beginning(text: str, rest: str) -> str:
    """Return the text, or its beginning with a mark that states the shown length; `rest` is the sentence that says
    where the whole is."""
    if len(text) <= LONGEST_QUESTION:
        return text
    return f"{text[:LONGEST_QUESTION]}\n\n[Showing {LONGEST_QUESTION:,} of {len(text):,} characters. {rest}]"


def digest(text: str) -> str:
    """Return the mark by which an answer counts for this text and for no other."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def fingerprint(call: ToolCall, tool: str) -> str:
    """Return the identity of a call: an answer holds for this call only."""
    return digest(f"{tool} {call.what}")


def verdict_of(answer: Answer, *, choices: tuple[str, ...], on_expiry: str) -> dict[str, Any]:
    """Return the decision of an answer to an approval; after expiry, the configured one."""
    if answer.expired:
        return {"decision": on_expiry, "note": "No answer arrived in time."}
    given = dict(answer.value or {"decision": "reject"})
    if given.get("decision") == "answer" and given.get("text") in choices:
        return {**given, "decision": given["text"], "text": None}
    return given


def _shown(lines: Sequence[str]) -> str | None:
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_QUESTION else None


def _asker(asker: str, user_id: str) -> str:
    return f"Asked for by {_short(asker)} ({_short(user_id)})."


def _short(name: str) -> str:
    return visible(name)[:_LONGEST_NAME]


def _written(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


def _items(call: ToolCall) -> list[tuple[str, Any]]:
    arguments: Mapping[str, Any] = call.arguments or {}
    return list(arguments.items())
