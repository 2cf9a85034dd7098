"""JSON is written as the standard library writes it in its compact form."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.messages import MessageStatus
from arvis.domain.text import json_writer

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(_VALUES)
def test_values_are_written_as_by_json(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert json_writer()(value) == json_writer(allow_nan=False)(value) == text


def test_enums_are_texts_and_tuples_are_lists() -> None:
    assert json_writer()({"status": MessageStatus.RUNNING, "ids": ("a", "b")}) == '{"status":"running","ids":["a","b"]}'


def test_numbers_that_json_does_not_have_are_refused_on_request() -> None:
    assert json_writer()([math.nan]) == "[NaN]"
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_writer(allow_nan=False)({"a": [number]})


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_writer()([object()])
