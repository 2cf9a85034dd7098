"""Estimates the tokens of a text or a request, and learns the real count of each model from its vendor's reports.

Before the first report of a model, the estimate depends on the kinds of characters. It is more often too high than too
low."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import mul
from string import ascii_letters

from arvis.domain.dataclass import replace
from arvis.domain.regex import regex
from arvis.domain.runs import Measure, RunRequest
from arvis.ports.conversations import Calibration

#: The tokens for each letter, mark, word, dense character, other character, message and request (see `sizes`).
DEFAULT_WEIGHTS = (1 / 3.5, 1 / 3.5, 0.0, 1.2, 0.6, 4.0, 0.0)

#: The maximum number of tokens that any vendor with a known rule counts for one picture.
PICTURE_TOKENS = 3_000

#: Characters of Chinese, Japanese and Korean, and pictographs. Each of them needs more than one token.
_DENSE = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff]+")
_LETTERS = f"{ascii_letters} ".encode()

#: Words are counted in pieces of this many characters, because a list of all words needs ten times the memory of the
#: text.
_PIECE = 65_536

#: A value that is subtracted before rounding up, because a sum of fractions may be slightly above the exact whole
#: number.
_HAIR = 1e-6


#: The counts of texts with `_KEPT` characters in total are cached, because each prompt of a conversation contains the
#: same messages again. A text with more than `_LONGEST` characters is not cached.
_KEPT, _LONGEST = 1_000_000, 20_000


class RememberedCounts:
    """The function `count` with a cache of its results by text."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: dict[str, int] = {}
        self._characters = 0

    def of(self, text: str) -> int:
        number = self._known.get(text)
        if number is None:
            number = self._count(text)
            if len(text) <= _LONGEST:
                self._characters += len(text)
                if self._characters > _KEPT:
                    self._known.clear()
                    self._characters = len(text)
                self._known[text] = number
        return number

    def of_each(self, texts: Sequence[str]) -> list[int]:
        known = self._known
        return [known[text] if text in known else self.of(text) for text in texts]


def measure(text: str) -> Measure:
    """Count the characters and words of a text; the counts of messages and requests stay 0. A million ASCII characters
    take ten milliseconds."""
    return replace(_characters_of(text), words=_count_words(text))


def measure_request(request: RunRequest) -> Measure:
    """Measure everything that is sent to a vendor."""
    texts = request.texts
    found = _characters_of("".join(texts))
    return Measure(
        letters=found.letters,
        marks=found.marks,
        words=sum(_WORDS.of_each(texts)),
        dense=found.dense,
        others=found.others,
        messages=1 + len(request.turns) + sum([len(turn.outputs) for turn in request.turns]),
        requests=1,
        pictures=sum([len(turn.images) for turn in request.turns]),
    )


def _characters_of(text: str) -> Measure:
    plain = text.encode("ascii", "ignore")
    marks = len(plain.translate(None, delete=_LETTERS))
    dense = 0 if text.isascii() else sum(map(len, _DENSE.findall(text)))
    return Measure(letters=len(plain) - marks, marks=marks, dense=dense, others=len(text) - len(plain) - dense)


def _count_words(text: str) -> int:
    return sum([len(text[start : start + _PIECE].split()) for start in range(0, len(text), _PIECE)])


#: Counting words takes ten times longer than counting characters.
_WORDS = RememberedCounts(_count_words)


class Estimator:
    """An estimator of tokens with `weights`, in the order of `DEFAULT_WEIGHTS`. Additional weights are ignored."""

    def __init__(self, weights: Sequence[float] = DEFAULT_WEIGHTS) -> None:
        self._weights = tuple(weights[: len(DEFAULT_WEIGHTS)])
        self._counts = RememberedCounts(lambda text: self.of(measure(text)))
        #: A function that returns the result of `tokens` for each of several texts.
        self.tokens_of_each = self._counts.of_each

    @property
    def message_tokens(self) -> float:
        """Return the tokens of a message in addition to the tokens of its text."""
        return self._weights[5]

    def tokens(self, text: str) -> int:
        """Return an estimate of the tokens of a text, which is more often too high than too low; 0 for an empty
        text."""
        return self._counts.of(text)

    def of(self, found: Measure) -> int:
        counted: float = sum(map(mul, self._weights, sizes(found)))
        return math.ceil(counted - _HAIR) + found.pictures * PICTURE_TOKENS


_DEFAULT = Estimator()


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text by its kinds of characters, for any model."""
    return _DEFAULT.tokens(text)


def sizes(found: Measure) -> tuple[int, ...]:
    """Return the numbers that are multiplied by the weights, in the order of the weights."""
    return (found.letters, found.marks, found.words, found.dense, found.others, found.messages, found.requests)


# -- calibration -------------------------------------------------------------------------------------------------------
#
# Each report is one equation: the sizes of the request, multiplied by the weights, add up to its tokens. The learned
# weights fit all reports best; newer reports count more. A weight that no report has tested stays close to its default.
# No weight becomes negative or extreme, because the weights are also used for single texts. Because no call may exceed
# a window, the estimate is too high more often than too low.


#: For each weight: its unit (`_UNITS`), its first value in units (`_PRIOR`), and its maximum in units (`_MOST`).
_UNITS = (1 / 3.5, 1 / 3.5, 1.0, 1.2, 0.6, 4.0, 2_000.0)
_PRIOR = tuple(weight / unit for weight, unit in zip(DEFAULT_WEIGHTS, _UNITS, strict=True))
_MOST = (4.0, 4.0, 4.0, 4.0, 6.0, 8.0, 10.0)
_COUNT = len(_UNITS)

#: The number of stored values: the weights in use, the usual error, and the sums of the reports.
_STORED = _COUNT + 1 + _COUNT + _COUNT * _COUNT

#: `_PRIOR_STRENGTH`: the first values of the weights count as much as this many reports. `_KEPT_SHARE`: each new report
#: multiplies the weight of older reports by this factor.
_PRIOR_STRENGTH = 0.003
_KEPT_SHARE = 0.98

#: The number of times that `_fit` improves each weight. `_fit` starts with the weights of the previous report.
_ROUNDS = 40

#: A report is accepted if its tokens are at least `_LEAST_BELIEVED` times the default estimate, and at most
#: `_MOST_BELIEVED` times that estimate plus `_HIDDEN` tokens, because some vendors add instructions of their own.
_LEAST_BELIEVED, _MOST_BELIEVED, _HIDDEN = 0.2, 5, 20_000

#: Each weight in use is higher than the fitted weight by a margin. The margin is `_ERRORS` times the usual error, but
#: at least `_SMALLEST` and at most `_LARGEST`. The usual error starts at `_FIRST_ERROR`; each new error counts with the
#: share `_NEWEST`.
_ERRORS, _SMALLEST, _LARGEST = 1.5, 0.01, 0.15
_FIRST_ERROR, _NEWEST = 0.1, 0.2

#: The additional margin for a weight that no report has tested, because that weight is a guess.
_DOUBT = 0.5

#: If a report is lower than expected by more than the factor `_SURPRISE`, the server has probably left out cached
#: tokens. Such a report counts with the weight `_DISTRUST`.
_SURPRISE, _DISTRUST = 2.0, 0.1

#: After `_ENOUGH` reports, a new report is skipped to save time if the estimate, divided by the reported tokens, is
#: between the two numbers of `_FORESEEN`.
_ENOUGH, _FORESEEN = 30, (1.0, 1.05)


def estimator_of(calibration: Calibration | None) -> Estimator:
    """Return the estimator of a model; the default estimator if the model has no calibration."""
    return _estimator(calibration.weights) if calibration and len(calibration.weights) == _STORED else _DEFAULT


@lru_cache(maxsize=8)
def _estimator(weights: Sequence[float]) -> Estimator:
    return Estimator(weights)


def learn(calibration: Calibration | None, model: str, measure: Measure, tokens: int) -> Calibration:
    """Return the calibration after a call of `model` (`provider/model`) whose vendor counted `tokens` of input,
    including cached tokens. Ignore an implausible report, and the report of a request with pictures."""
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
    """Return the usual error, and the sums of the reports: the matrix and the target of `_fit`."""
    if not stored:
        return _FIRST_ERROR, [[0.0] * _COUNT for _ in _UNITS], [0.0] * _COUNT
    error, target, flat = stored[_COUNT], stored[_COUNT + 1 : 2 * _COUNT + 1], stored[2 * _COUNT + 1 :]
    return error, [list(flat[row * _COUNT : (row + 1) * _COUNT]) for row in range(_COUNT)], list(target)


def _factors(matrix: Sequence[Sequence[float]], error: float) -> list[float]:
    """Return the factor that turns each fitted weight into the weight in use: its unit, multiplied by its margin."""
    margin = 1 + min(max(_ERRORS * error, _SMALLEST), _LARGEST)
    doubts = [_PRIOR_STRENGTH / (_PRIOR_STRENGTH + matrix[row][row]) for row in range(_COUNT)]
    return [unit * margin * (1 + _DOUBT * doubt) for unit, doubt in zip(_UNITS, doubts, strict=True)]


def _fit(matrix: Sequence[Sequence[float]], target: Sequence[float], start: Sequence[float]) -> list[float]:
    """Return the weights, in units and within their bounds, that fit all reports best. Set each weight in turn to its
    best value for the current values of the other weights. This method never diverges."""
    weights = list(start)
    for _ in range(_ROUNDS):
        for row, sums in enumerate(matrix):
            others = _product(sums, weights) - sums[row] * weights[row]
            wanted = target[row] - others + _PRIOR_STRENGTH * _PRIOR[row]
            weights[row] = min(max(wanted / (sums[row] + _PRIOR_STRENGTH), 0.0), _MOST[row])
    return weights


def _product(ones: Sequence[float], others: Sequence[float]) -> float:
    return math.fsum(map(mul, ones, others))
