"""Each kind of expectation passes and fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from arvis.domain.expectations import Answer, Expectation, check

ANSWER = Answer(
    reply='```json\n{"days": 30}\n```',
    calls=[("srv__look", {"words": "a", "more": 1})],
    actions=["remember"],
    cost_micros=20_000,
    duration_ms=1_500,
    recall=0.5,
)


@pytest.mark.parametrize(
    ("passes", "fails"),
    [
        ({"contains": '"DAYS":  30'}, {"contains": "31"}),
        ({"lacks": "31"}, {"lacks": "days"}),
        ({"schema": {"type": "object", "required": ["days"]}}, {"schema": {"type": "object", "required": ["weeks"]}}),
        ({"tool": "srv.look", "arguments": {"words": "a"}}, {"tool": "srv.look", "arguments": {"words": "b"}}),
        ({"tool": "srv.look"}, {"tool": "dig"}),
        ({"noTool": "dig"}, {"noTool": "srv.look"}),
        ({"action": "remember"}, {"action": "delegate"}),
        ({"maxCostUsd": 0.02}, {"maxCostUsd": 0.0199}),
        ({"maxCharacters": 30}, {"maxCharacters": 10}),
        ({"maxSeconds": 1.5}, {"maxSeconds": 1}),
        ({"recall": 0.5}, {"recall": 0.51}),
    ],
)
def test_an_answer_meets_an_expectation_or_not(passes: Mapping[str, Any], fails: Mapping[str, Any]) -> None:
    met, missed = (check(Expectation.from_json(each), ANSWER) for each in (passes, fails))
    assert (met.passed, met.reason) == (True, "")
    assert not missed.passed
    assert missed.reason.endswith(".")
    assert Expectation.from_json(passes).to_json() == passes
