"""Estimates the tokens of a text or a request: by script, without a table, rather too high (behaviour 1.5).

The real count of a model is learnt from its calls (`calibration`); until then the weights below hold for all.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import mul
from string import ascii_letters

from arvis.domain.measures import Measure
from arvis.domain.runs import RunRequest, Turn

#: Tokens for each letter, mark, word, dense and other character, message and request, in the order of `Measure`.
DEFAULT_WEIGHTS = (1 / 3.5, 1 / 3.5, 0.0, 1.2, 0.6, 4.0, 0.0)

#: The most tokens that any vendor with a known rule counts for one picture.
PICTURE_TOKENS = 3_000

#: Chinese, Japanese, Korean and pictographs: more than a token each.
_DENSE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff]+"
)
_LETTERS = f"{ascii_letters} ".encode()

#: Words are counted in pieces of this many characters, because a list of all words of a large text would take ten
#: times its memory.
_PIECE = 65_536

#: Sums of fractions may be a hair above the whole number that they are.
_HAIR = 1e-6


#: The messages of a conversation are measured for each of its prompts: this many results of short texts are cached.
_KEPT, _SHORT = 4_096, 1_000


def measure(text: str) -> Measure:
    """Measure a text alone: no message, no request. Takes ten milliseconds for a million ASCII characters."""
    return _kept(text) if len(text) <= _SHORT else _measured(text)


def _measured(text: str) -> Measure:
    plain = text.encode("ascii", "ignore")
    marks = len(plain.translate(None, delete=_LETTERS))
    dense = 0 if text.isascii() else sum(map(len, _DENSE.findall(text)))
    return Measure(len(plain) - marks, marks, _words(text), dense, len(text) - len(plain) - dense)


_kept = lru_cache(maxsize=_KEPT)(_measured)


def _words(text: str) -> int:
    if len(text) <= _PIECE:
        return len(text.split())
    return sum(len(text[start : start + _PIECE].split()) for start in range(0, len(text), _PIECE))


def measure_request(request: RunRequest) -> Measure:
    """Measure everything that is sent to a vendor."""
    found = Measure(
        messages=1 + sum(1 + len(turn.outputs) for turn in request.turns),
        requests=1,
        pictures=sum(len(turn.images) for turn in request.turns),
    )
    for text in _texts(request):
        found += measure(text)
    return found


class Estimator:
    """Counts by `weights`, in the order of `DEFAULT_WEIGHTS`; further numbers are not looked at."""

    def __init__(self, weights: Sequence[float] = DEFAULT_WEIGHTS) -> None:
        self._weights = tuple(weights[: len(DEFAULT_WEIGHTS)])

    @property
    def message_tokens(self) -> float:
        """Return the cost of a message besides its text."""
        return self._weights[5]

    def tokens(self, text: str) -> int:
        """Return at least the likely number of tokens of a text; 0 for an empty text."""
        return self.of(measure(text))

    def of(self, found: Measure) -> int:
        counted: float = sum(map(mul, self._weights, sizes(found)))
        return math.ceil(counted - _HAIR) + found.pictures * PICTURE_TOKENS


def estimate_tokens(text: str) -> int:
    """Estimate by script only, for any model."""
    return Estimator().tokens(text)


def sizes(found: Measure) -> tuple[int, ...]:
    """Return the values that are multiplied by the weights."""
    return (found.letters, found.marks, found.words, found.dense, found.others, found.messages, found.requests)


def _texts(request: RunRequest) -> Iterator[str]:
    yield from (request.system, request.changing, request.now)
    for turn in request.turns:
        yield from _said(turn)
    for tool in request.tools:
        yield json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False, default=dict)


def _said(turn: Turn) -> Iterator[str]:
    yield turn.content
    yield from (json.dumps(call.to_json(), ensure_ascii=False) for call in turn.calls)
    yield from (output.content for output in turn.outputs)
    if turn.thoughts is not None:
        yield json.dumps(turn.thoughts, ensure_ascii=False)
