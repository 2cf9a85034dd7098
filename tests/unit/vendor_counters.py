"""Vendors that count tokens differently, and conversations in several languages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from arvis.domain.runs import RunRequest, Turn

_CJK = re.compile(r"[\u3000-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]+")
_DIGITS = re.compile(r"\d+")
_SIGNS = re.compile(r"[^\w\s]")


@dataclass(frozen=True, slots=True)
class Counter:
    """A vendor's way to count tokens."""

    text: Callable[[str], float]  # counts a text
    message: int = 4  # tokens for each message
    request: int = 0  # tokens for each request

    def of(self, request: RunRequest) -> int:
        texts = [request.system, *(turn.content for turn in request.turns)]
        return round(sum(map(self.text, texts)) + self.message * len(texts) + self.request)


def _pieces(text: str) -> float:
    """Count tokens approximately as real vocabularies do."""
    words = sum(1 + len(word) // 5 for word in _LATIN.findall(text))
    words += sum(1 + len(word) // 3 for word in _CYRILLIC.findall(text))
    numbers = sum(-(-len(digits) // 3) for digits in _DIGITS.findall(text))
    return words + numbers + 0.8 * len(_CJK.findall(text)) + 0.7 * len(_SIGNS.findall(text))


COUNTERS: Mapping[str, Counter] = {
    "bytes": Counter(lambda text: len(text.encode()) / 3),
    "characters": Counter(lambda text: len(text) / 2, message=0),
    "words": Counter(lambda text: 1.5 * len(text.split()) + 2 * len(_CJK.findall(text))),
    "pieces": Counter(_pieces, request=350),
}

_WORDS: Mapping[str, str] = {
    "english": "the of and to in that it was for with on have from word people water about many then them write would"
    " like these long make thing see two look more day could come number sound most over know than call first who down"
    " side now find international responsibility understanding",
    "russian": "не на я быть он что по это она этот но они мы весь который из то за свой год от так для же тот мочь вы"
    " человек такой сказать только или ещё себя один уже время когда другой наш ответственность",
}
_SIGNS_OF_CHINESE = (
    "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里"
)
_CODE = (
    "def f_%d(x: int) -> str:\n    return str(x * %d)\n",
    "for i in range(%d):\n    total += values[i] * 0x%x\n",
    "if (a[%d] != NULL && b->next == %d) {\n\t\treturn -1;\n}\n",
    "SELECT id, name FROM t%d WHERE k = '%d';\n",
)
KINDS = ("english", "russian", "chinese", "code")


def said(chance: random.Random, kind: str, words: int) -> str:
    """Return a text of about this number of words."""
    if kind == "chinese":
        return "".join(chance.choice(_SIGNS_OF_CHINESE) for _ in range(3 * words)) + "。"
    if kind == "code":
        lines = (chance.choice(_CODE) for _ in range(max(1, words // 6)))
        return "".join(line % (chance.randrange(1000), chance.randrange(1000)) for line in lines)
    vocabulary = _WORDS[kind].split()
    return " ".join(chance.choice(vocabulary) for _ in range(words)) + "."


def conversation(chance: random.Random, kinds: Sequence[str], calls: int, kept: int) -> Iterator[RunRequest]:
    """Yield the request of each call, with at most `kept` messages."""
    turns: list[Turn] = []
    for _ in range(calls):
        turns.append(Turn("user", said(chance, chance.choice(kinds), chance.randrange(3, 120))))
        yield request_of(*turns[-kept:])
        turns.append(Turn("assistant", said(chance, chance.choice(kinds), chance.randrange(3, 200))))


def request_of(*turns: Turn) -> RunRequest:
    return RunRequest("You are Helper, an assistant in a chat. " * 8, turns, None, "Helper")
