"""The words by which a message answers a question: yes and no, other arguments, one of the choices, or feedback."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from arvis.ports.operations import WaitAnswer

#: Words of several languages for yes and no; compared in lower case without what ends a sentence. The first ones of each name the
#: decision itself and stay clear when something else was said meanwhile.
_APPROVE = frozenset({"approve", "approved", "allow"})
_REJECT = frozenset({"reject", "rejected", "deny"})
YES = _APPROVE | {"accept", "yes", "ok", "okay", "ja", "oui", "si", "sí", "да", "是", "好"}
NO = _REJECT | {"no", "nein", "non", "нет", "否", "不"}

_ENDS = ".!…。\uff01 \t\n"
_EDIT = re.compile(r"edit\s+(?P<arguments>\{.*\})", re.DOTALL | re.IGNORECASE)
#: A decision with a note behind it, which a mark sets apart: “approve the budget, please” is no answer.
_NOTED = re.compile(r"\s*(?P<word>approved?|reject(?:ed)?)\s*[,.:;!–-]+\s*(?P<note>.+)", re.DOTALL | re.IGNORECASE)


def plain_word(text: str) -> WaitAnswer | None:
    """Read a message that is nothing but a yes or a no."""
    word = text.strip(_ENDS).casefold()
    if word in YES:
        return WaitAnswer(decision="approve")
    return WaitAnswer(decision="reject") if word in NO else None


def explicit(text: str, *, noted: bool) -> WaitAnswer | None:
    """Read a message that names its decision: `approve`, `reject`, with a note behind where the question takes one (`noted`), else
    `edit {…}`."""
    if text.strip(_ENDS).casefold() in _APPROVE | _REJECT:
        return plain_word(text)
    if not noted:
        found = _EDIT.fullmatch(text.strip())
        return _edited(found["arguments"]) if found is not None else None
    if (found := _NOTED.fullmatch(text)) is None:
        return None
    decision = "reject" if found["word"].casefold().startswith("reject") else "approve"
    return WaitAnswer(decision=decision, note=found["note"].strip() or None)


def of_choices(text: str, choices: Sequence[str]) -> WaitAnswer | None:
    """Read a message that is nothing but one of the choices."""
    word = text.strip(_ENDS).casefold()
    chosen = next((choice for choice in choices if choice.casefold() == word), None)
    return WaitAnswer(decision="answer", text=chosen) if chosen is not None else None


def feedback(text: str) -> WaitAnswer | None:
    """Read a reply to a question as words to the agent that asked it."""
    return WaitAnswer(decision="feedback", text=text) if text.strip() and not text.startswith("/") else None


def _edited(text: str) -> WaitAnswer | None:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return WaitAnswer(decision="edit", arguments=arguments) if isinstance(arguments, dict) else None
