"""Estimates the tokens of a text or a request, and learns the real count of each model from its vendor's reports.

Until a model has reported, texts are counted by script, without a table, rather too high (behaviour 1.5)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from string import ascii_letters

from arvis.domain.runs import Measure, RunRequest
from arvis.ports.conversations import Calibration

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
    words = sum(len(text[start : start + _PIECE].split()) for start in range(0, len(text), _PIECE))
    return Measure(len(plain) - marks, marks, words, dense, len(text) - len(plain) - dense)


_kept = lru_cache(maxsize=_KEPT)(_measured)


def measure_request(request: RunRequest) -> Measure:
    """Measure everything that is sent to a vendor."""
    found = Measure(
        messages=1 + sum(1 + len(turn.outputs) for turn in request.turns),
        requests=1,
        pictures=sum(len(turn.images) for turn in request.turns),
    )
    texts = [request.system, request.changing, request.now]
    for turn in request.turns:
        texts += turn.texts
    for tool in request.tools:
        texts.append(json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False, default=dict))
    for text in texts:
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


# -- calibration -------------------------------------------------------------------------------------------------------
#
# Each report is one equation: the weighted sizes of the request are its tokens. The result is the weights that fit all
# reports best, newer ones more, close to the weights by script where the reports give no information; none is negative
# or absurd, because they are also used for single texts. No call may exceed a window, so the estimate is rather too high.


#: The unit of each weight, its share of the unit at first, and the most it may become, in units.
_UNITS = (1 / 3.5, 1 / 3.5, 1.0, 1.2, 0.6, 4.0, 2_000.0)
_PRIOR = tuple(weight / unit for weight, unit in zip(DEFAULT_WEIGHTS, _UNITS, strict=True))
_MOST = (4.0, 4.0, 4.0, 4.0, 6.0, 8.0, 10.0)
_COUNT = len(_UNITS)

#: The stored values: the weights in use, the usual error, and the sums of the reports.
_STORED = _COUNT + 1 + _COUNT + _COUNT * _COUNT

#: The weight of the prior in reports, and the factor on a report's weight after each newer one.
_PRIOR_STRENGTH = 0.003
_KEPT_SHARE = 0.98

#: Rounds of improving one weight after the other; each report goes on from where the last one came to.
_ROUNDS = 40

#: A report is accepted between these multiples of the estimate by script; above it some vendors add instructions of
#: theirs.
_LEAST_BELIEVED, _MOST_BELIEVED, _HIDDEN = 0.2, 5, 20_000

#: The margin: this multiple of the usual error, within these bounds; the first error, and the weight of the newest
#: one.
_ERRORS, _SMALLEST, _LARGEST = 1.5, 0.01, 0.15
_FIRST_ERROR, _NEWEST = 0.1, 0.2

#: The margin, besides, for what no report has held yet: its weight is a guess.
_DOUBT = 0.5

#: If the report is lower than expected by this factor, the server has probably left out cached tokens: such a report
#: gets this weight.
_SURPRISE, _DISTRUST = 2.0, 0.1

#: After this many reports, one that was predicted this well (estimate to report) is skipped to save time.
_ENOUGH, _FORESEEN = 30, (1.0, 1.05)


def estimator_of(calibration: Calibration | None) -> Estimator:
    """Return the estimator of a model; by script for an unknown one."""
    return Estimator(calibration.weights) if calibration and len(calibration.weights) == _STORED else Estimator()


def learn(calibration: Calibration | None, model: str, measure: Measure, tokens: int) -> Calibration:
    """Return the calibration after a call of `model` (`provider/model`) whose vendor counted `tokens` of input,
    cached ones included. An implausible report, or one of a request with pictures, changes nothing."""
    known = calibration or Calibration(model, (), 0)
    if len(known.weights) != _STORED:
        known = Calibration(model, (), 0, known.most)
    by_script = Estimator().of(measure)
    believed = _LEAST_BELIEVED * by_script <= tokens <= _MOST_BELIEVED * by_script + _HIDDEN
    if tokens <= 0 or measure.pictures or not believed:
        return known
    if known.samples >= _ENOUGH and _FORESEEN[0] <= estimator_of(known).of(measure) / tokens <= _FORESEEN[1]:
        return known
    error, matrix, target = _state_of(known.weights)
    fitted = [used / factor for used, factor in zip(known.weights, _factors(matrix, error), strict=False)] or _PRIOR
    shares = [unit * size / tokens for unit, size in zip(_UNITS, sizes(measure), strict=True)]
    expected = _product(fitted, shares)
    trust = 1.0
    if known.samples:
        error += _NEWEST * (min(abs(expected - 1), 1.0) - error)
        trust = _DISTRUST if expected > _SURPRISE else 1.0
    for row in range(_COUNT):
        target[row] = _KEPT_SHARE * target[row] + trust * shares[row]
        matrix[row] = [
            _KEPT_SHARE * old + trust * shares[row] * new for old, new in zip(matrix[row], shares, strict=True)
        ]
    fitted = _fit(matrix, target, fitted)
    used = [weight * factor for weight, factor in zip(fitted, _factors(matrix, error), strict=True)]
    flat = [number for row in matrix for number in row]
    return Calibration(model, (*used, error, *target, *flat), known.samples + 1, known.most)


def _state_of(stored: Sequence[float]) -> tuple[float, list[list[float]], list[float]]:
    """The usual error, and the sums of what was reported."""
    if not stored:
        return _FIRST_ERROR, [[0.0] * _COUNT for _ in _UNITS], [0.0] * _COUNT
    error, target, flat = stored[_COUNT], stored[_COUNT + 1 : 2 * _COUNT + 1], stored[2 * _COUNT + 1 :]
    return error, [list(flat[row * _COUNT : (row + 1) * _COUNT]) for row in range(_COUNT)], list(target)


def _factors(matrix: Sequence[Sequence[float]], error: float) -> list[float]:
    """Return the factors of the weights, in units: their unit and the margin."""
    margin = 1 + min(max(_ERRORS * error, _SMALLEST), _LARGEST)
    doubts = [_PRIOR_STRENGTH / (_PRIOR_STRENGTH + matrix[row][row]) for row in range(_COUNT)]
    return [unit * margin * (1 + _DOUBT * doubt) for unit, doubt in zip(_UNITS, doubts, strict=True)]


def _fit(matrix: Sequence[Sequence[float]], target: Sequence[float], start: Sequence[float]) -> list[float]:
    """The weights, in units, that come closest to all reports within their bounds: each in turn gets its best value
    given the others, which never diverges."""
    weights = list(start)
    for _ in range(_ROUNDS):
        for row, sums in enumerate(matrix):
            others = _product(sums, weights) - sums[row] * weights[row]
            wanted = target[row] - others + _PRIOR_STRENGTH * _PRIOR[row]
            weights[row] = min(max(wanted / (sums[row] + _PRIOR_STRENGTH), 0.0), _MOST[row])
    return weights


def _product(ones: Sequence[float], others: Sequence[float]) -> float:
    return math.fsum(map(mul, ones, others))
