"""Triggers of workflows, and the search for those that a message matches."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address
from arvis.domain.regex import regex


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger that starts a run of a workflow at the node `node_id`. An empty `platform`, `channel` or `words`
    matches every message."""

    workflow_id: str
    node_id: str
    kind: str
    platform: str = ""
    channel: str = ""
    #: Separated by commas.
    words: str = ""
    description: str = ""


class TriggerIndex:
    """Triggers that can be searched by the words of a message. Only the triggers whose words may occur in the message
    are compared with it, so the cost of a message hardly depends on the number of triggers."""

    def __init__(self, triggers: Sequence[Trigger]) -> None:
        #: The triggers, which count towards the limit of the cache.
        self.rows = triggers
        #: The positions of triggers that every message is compared with.
        self._always: list[int] = []
        #: The positions of the other triggers. The key is a part of one of the trigger's words, in lower case.
        self._by_part: dict[str, set[int]] = defaultdict(set)
        parts = [[_parts_of(word) for word in _words_of(trigger.words)] for trigger in triggers]
        uses = Counter(part for words in parts for word in words for part in set(word))
        for position, words in enumerate(parts):
            if not words or not all(words):
                self._always.append(position)
            for word in filter(None, words):
                self._by_part[min(word, key=lambda part: uses[part])].add(position)

    def matching(self, address: Address, text: str | None) -> Iterator[Trigger]:
        """Yield the triggers for a message at this address. A trigger with words matches only if `text` contains one of
        them as a whole word, in upper or lower case. If `text` is None, the words are not compared."""
        for position in self._candidates(text):
            trigger = self.rows[position]
            if trigger.platform not in {"", address.platform} or trigger.channel not in {"", address.channel}:
                continue
            if (
                text is None
                or not (patterns := _patterns_of(trigger.words))
                or any(each.search(text) for each in patterns)
            ):
                yield trigger

    def _candidates(self, text: str | None) -> Sequence[int]:
        if text is None or not text.isascii():
            return range(len(self.rows))
        found = set(self._always)
        for part in set(_PART.findall(text.lower())):
            found |= self._by_part.get(part, frozenset())
        return sorted(found)


_PART = regex(r"\w+")


def _words_of(words: str) -> list[str]:
    return [word for each in words.split(",") if (word := each.strip())]


def _parts_of(word: str) -> list[str]:
    """Return the parts of a word that an ASCII text must contain to match. Return none for a word that is not ASCII:
    its letters may match other letters."""
    return _PART.findall(word.lower()) if word.isascii() else []


@lru_cache(4_096)
def _patterns_of(words: str) -> Sequence[re.Pattern[str]]:
    return [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE) for word in _words_of(words)]
