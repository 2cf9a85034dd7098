"""What plan_retrieval finds out of a message: what is wanted, how much work that is, which skill it calls for (behaviour.md 3).

Small talk is known by its looks, without a model. Nothing in here asks anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from arvis.domain.text import storable_json

#: Up to so many messages in the thread and characters of the text are looked at without a model.
FAST_MESSAGES = 10
FAST_LENGTH = 100
_SHORT_QUESTION = 50
_SHORT_YES = 30
#: Trigger words of fewer letters count for nothing, of more only as they stand; so do words of a text that are shorter.
_LEAST_TRIGGER, _MOST_TRIGGER = 5, 15
_LEAST_WORD = 4
_LONGEST = 2_000
_MOST_SEARCHES = 8

_WORD = re.compile(r"\w+")
_COURTESY = re.compile(
    r"(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day|night)|thanks|thank you|thx|cheers"
    r"|bye|goodbye|see you|see ya|farewell)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"(?:what|how|when|where|why)\b|(?:can|could|will|would) you\b", re.IGNORECASE)
_YES = re.compile(
    r"(?:ok|okay|yes|yeah|yep|no|nope|sure|got it|all ?right|fine|great|cool|perfect|understood)\b", re.IGNORECASE
)
#: The seed's own words for work that needs a tool: then a model decides, however short the text is (docs/adr/0025).
_ACTION = re.compile(r"\b(?:check|test|status|verif|fetch|run)\w*", re.IGNORECASE)


class Complexity(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """`complexity` None is taken for high; `skill` is the slug of one; `memory_search` are words to look for."""

    intent: str
    goal: str
    complexity: Complexity | None
    skill: str | None = None
    memory_search: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fast_path(text: str, *, messages: int, triggers: Iterable[str]) -> Retrieval | None:
    """Low for what is plainly small talk; None: ask a model. `messages` counts those of the thread, this one too."""
    said = text.strip()
    if messages > FAST_MESSAGES or len(said) > FAST_LENGTH or _ACTION.search(said):
        return None
    if not _is_small_talk(said) or any(triggered(said, trigger) for trigger in triggers):
        return None
    return Retrieval("talk", said, Complexity.LOW)


def _is_small_talk(said: str) -> bool:
    if _COURTESY.match(said):
        return True
    if len(said) < _SHORT_QUESTION and (_QUESTION.match(said) or said.endswith("?")):
        return True
    return len(said) < _SHORT_YES and _YES.match(said) is not None


def triggered(text: str, trigger: str) -> bool:
    """Whether a skill's trigger word may be meant: a long one stands in the text, a middling one in a word of it or a word in
    it, a short one never."""
    word, lowered = trigger.casefold().strip(), text.casefold()
    if len(word) < _LEAST_TRIGGER:
        return False
    if len(word) > _MOST_TRIGGER:
        return word in lowered
    return any(word in each or (len(each) >= _LEAST_WORD and each in word) for each in _WORD.findall(lowered))


def read_retrieval(reply: str, *, goal: str, skills: Collection[str]) -> Retrieval | None:
    """What a model answered; None when it is no JSON object. `goal` stands for one that it left out; a skill that is not
    there counts as none."""
    found = read_object(reply)
    if found is None:
        return None
    complexity = found.get("complexity")
    slug = found.get("selected_skill_slug")
    searches = found.get("memory_search")
    words = [str(each)[:200] for each in searches[:_MOST_SEARCHES]] if isinstance(searches, list) else []
    return Retrieval(
        intent=_text(found, "intent"),
        goal=_text(found, "goal") or goal[:_LONGEST],
        complexity=Complexity(complexity) if complexity in tuple(Complexity) else None,
        skill=slug if isinstance(slug, str) and slug in skills else None,
        memory_search=tuple(words),
    )


def read_object(reply: str) -> Mapping[str, Any] | None:
    """The JSON object in a reply, from its first brace to its last. Nothing is repaired."""
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        found = storable_json(json.loads(reply[start : end + 1]))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""
