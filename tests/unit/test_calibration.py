"""Token counts are learned from vendors' reports: estimates are close, rather too high than too low, and safe for
any report."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.runs import Image, Measure, Turn
from arvis.llm.tokens import estimator_of, learn, measure, measure_request
from arvis.ports.conversations import Calibration
from tests.unit.vendor_counters import COUNTERS, KINDS, conversation, request_of, said

MODEL = "custom/counts-its-own-way"
LANGUAGES = [*((kind,) for kind in KINDS), ("english", "code"), KINDS]

MEASURES = st.builds(Measure, *(st.integers(0, 10**7) for _ in range(5)), st.integers(0, 500), st.integers(0, 1))


def errors(counter: str, kinds: tuple[str, ...], *, seed: int, calls: int = 70, kept: int = 80) -> list[float]:
    """Return the relative error of the estimate before each call."""
    calibration: Calibration | None = None
    found = []
    for request in conversation(random.Random(seed), kinds, calls, kept):
        size, reported = measure_request(request), COUNTERS[counter].of(request)
        found.append(estimator_of(calibration).of(size) / reported - 1)
        calibration = learn(calibration, MODEL, size, reported)
    return found


@pytest.mark.parametrize("kinds", LANGUAGES, ids="+".join)
@pytest.mark.parametrize("counter", COUNTERS)
def test_estimates_come_within_ten_percent_and_never_far_below(counter: str, kinds: tuple[str, ...]) -> None:
    late: list[float] = []
    for seed, kept in ((1, 80), (2, 12)):
        found = errors(counter, kinds, seed=seed, kept=kept)
        assert min(found[3:]) > -0.25  # prompts keep a reserve for this error
        late += map(abs, found[20:])
    assert sorted(late)[int(len(late) * 0.95)] <= 0.1
    assert sum(late) / len(late) <= 0.05


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_language_that_comes_late_is_not_far_below_either(counter: str) -> None:
    chance = random.Random(5)
    calibration: Calibration | None = None
    for call, kind in enumerate(kind for kind in ("english", "chinese", "code", "russian") for _ in range(6)):
        request = request_of(Turn("user", said(chance, kind, 1_500)))
        size, reported = measure_request(request), COUNTERS[counter].of(request)
        assert call < 3 or estimator_of(calibration).of(size) / reported > 0.75
        calibration = learn(calibration, MODEL, size, reported)


def test_texts_are_counted_as_their_request_is() -> None:
    """The counts of single texts add up to the count of the whole request."""
    calibration: Calibration | None = None
    for request in conversation(random.Random(3), KINDS, 40, 80):
        calibration = learn(calibration, MODEL, measure_request(request), COUNTERS["pieces"].of(request))
    estimator = estimator_of(calibration)
    parts = sum(estimator.tokens(text) for text in (request.system, *(turn.content for turn in request.turns)))
    whole = estimator.of(measure_request(request))
    frame = estimator.message_tokens * (len(request.turns) + 1)
    assert parts + frame == pytest.approx(whole, rel=0.15)
    assert estimator.tokens("") == 0


def test_a_vendor_that_changes_its_counting_is_followed() -> None:
    chance = random.Random(4)
    calibration: Calibration | None = None
    for call in range(260):
        request = request_of(Turn("user", said(chance, "english", 300)))
        size, reported = measure_request(request), COUNTERS["bytes" if call < 60 else "characters"].of(request)
        if call in (59, 259):
            assert estimator_of(calibration).of(size) == pytest.approx(reported, rel=0.06)
        calibration = learn(calibration, MODEL, size, reported)


def test_instructions_that_a_vendor_adds_are_no_part_of_the_texts() -> None:
    """The `claude` program adds some thousand tokens to each request."""
    chance = random.Random(6)
    calibration: Calibration | None = None
    for request in conversation(chance, ("english",), 30, 80):
        calibration = learn(calibration, MODEL, measure_request(request), COUNTERS["bytes"].of(request) + 9_000)
    estimator = estimator_of(calibration)
    assert estimator.of(measure_request(request)) == pytest.approx(COUNTERS["bytes"].of(request) + 9_000, rel=0.1)
    assert estimator.message_tokens < 50
    assert estimator.tokens("a plain English text of some length " * 50) < 900


@pytest.mark.parametrize("tokens", [0, -5, 1, 10**12])
def test_reports_that_cannot_be_true_change_nothing(tokens: int) -> None:
    size = replace(measure("words and words " * 100), messages=2, requests=1)
    known = learn(None, MODEL, size, 500)
    assert learn(known, MODEL, size, tokens) == known
    assert learn(None, MODEL, size, tokens) == Calibration(MODEL, (), 0)


def test_a_request_with_pictures_says_nothing_about_texts() -> None:
    picture = Turn("user", "What is it?", images=(Image("image/png", b"PNG"),))
    size = measure_request(request_of(picture))
    assert learn(None, MODEL, size, 900).samples == 0
    assert estimator_of(None).of(size) > 3_000


def test_a_server_that_leaves_out_what_it_kept_is_hardly_believed() -> None:
    chance = random.Random(7)
    calibration: Calibration | None = None
    request = request_of(Turn("user", said(chance, "english", 400)))
    size, whole = measure_request(request), COUNTERS["bytes"].of(request)
    for call in range(40):
        calibration = learn(calibration, MODEL, size, whole // 3 if call > 5 and call % 4 == 0 else whole)
    assert 0.9 * whole < estimator_of(calibration).of(size) < 1.3 * whole


@given(st.lists(st.tuples(MEASURES, st.integers(-(10**15), 10**15) | st.integers(0, 10**5)), max_size=8))
def test_whatever_is_reported_the_weights_stay_usable(reports: list[tuple[Measure, int]]) -> None:
    calibration: Calibration | None = None
    for size, tokens in reports:
        calibration = learn(calibration, MODEL, size, tokens)
        stored = json.loads(json.dumps(calibration.weights, allow_nan=False))
        assert all(math.isfinite(weight) for weight in stored)
        calibration = replace(calibration, weights=tuple(stored))
    estimator = estimator_of(calibration)
    assert 0 <= estimator.tokens("Hello, world. " * 100) < 100_000
    assert 0 <= estimator.message_tokens < 100


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=70))
def test_state_of_another_length_is_begun_anew(weights: list[float]) -> None:
    known = Calibration(MODEL, tuple(weights), 3, 8_192)
    size = replace(measure("words and words " * 100), messages=2, requests=1)
    if len(weights) not in (0, 64):
        assert estimator_of(known).of(size) == estimator_of(None).of(size)
        learnt = learn(known, MODEL, size, 500)
        assert learnt.weights == learn(None, MODEL, size, 500).weights
        assert learnt.most == 8_192
