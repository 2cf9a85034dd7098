"""What a person is shown before a tool runs, and what their answer means.

The question holds everything that will run, in a form in which nothing can hide: no invisible character, no change of
direction, no line that looks like ours, no run of blanks that pushes the rest out of sight.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from arvis.domain.executions import Answer
from arvis.domain.tools import ToolCall

#: What can be shown, in characters: a person must be able to read what they allow.
LONGEST_QUESTION = 6_000

_LONGEST_NAME = 60
_BLANKS = re.compile(r" {9,}")


def question(call: ToolCall, *, tool: str, agent: str, asker: str, user_id: str) -> str | None:
    """None when it is too long to be shown whole."""
    lines = [f"  {visible(name)}: {visible(json.dumps(value, ensure_ascii=False))}" for name, value in _items(call)]
    text = "\n".join(
        [
            f"{visible(agent)[:_LONGEST_NAME]} wants to use the tool {visible(tool)}.",
            *(["With:", *lines] if lines else ["It takes nothing."]),
            f"Asked for by {visible(asker)[:_LONGEST_NAME]} ({visible(user_id)[:_LONGEST_NAME]}).",
        ]
    )
    return text if len(text) <= LONGEST_QUESTION else None


def visible(text: str) -> str:
    """One line in which every character is one that is seen."""
    shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return _BLANKS.sub(lambda blanks: f" [{len(blanks[0])} blanks] ", shown)


def fingerprint(call: ToolCall, tool: str) -> str:
    """Tells calls apart: an answer counts for this one and no other."""
    return hashlib.sha256(f"{tool} {call.what}".encode("utf-8", "replace")).hexdigest()[:32]


def verdict_of(answer: Answer, *, choices: tuple[str, ...], on_expiry: str) -> dict[str, Any]:
    """What the answer to an approval decides; without one in time what the configuration says."""
    if answer.expired:
        return {"decision": on_expiry, "note": "Nobody answered in time."}
    given = dict(answer.value or {"decision": "reject"})
    if given.get("decision") == "answer" and given.get("text") in choices:
        return {**given, "decision": given["text"], "text": None}
    return given


def _items(call: ToolCall) -> list[tuple[str, Any]]:
    arguments: Mapping[str, Any] = call.arguments or {}
    return list(arguments.items())
