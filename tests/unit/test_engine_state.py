"""Typed states are read from the JSON of an execution, and their changes are written back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.engine.state import State, changes, stored, whole


def _sum(state: Mapping[str, Any]) -> int:
    return int(state.get("a", 0)) + int(state.get("b", 0))


@dataclass(frozen=True, slots=True)
class Read(State):
    cycle: int = stored(0)
    names: tuple[str, ...] = stored((), key="people", read=tuple, write=list)
    sum: int = whole(_sum)


def test_keys_are_converted_and_null_is_the_default() -> None:
    assert Read.from_json({"cycle": 2, "people": ["ann"], "other": 1}) == Read(2, ("ann",))
    assert Read.from_json({"cycle": None, "people": None, "a": 1, "b": 2}) == Read(sum=3)


def test_changes_contain_only_the_named_fields() -> None:
    assert changes(Read, names=("ann",)) == {"people": ["ann"]}


def test_the_same_mapping_is_read_once() -> None:
    state = {"cycle": 1}
    assert Read.from_json(state) is Read.from_json(state)
    assert Read.from_json({**state, "cycle": 2}) == Read(2)
    assert Read.from_json(dict(state)) == Read(1)


def test_a_mapping_in_the_memory_of_an_earlier_one_is_read_again() -> None:
    for number in range(1_000):
        assert Read.from_json({"cycle": number}).cycle == number


@dataclass(frozen=True, slots=True)
class ReadMore(Read):
    more: str = ""


def test_an_object_of_a_subclass_serves_for_its_base() -> None:
    state = {"cycle": 1, "more": "text"}
    whole_state = ReadMore.from_json(state)
    assert Read.from_json(state) is whole_state
    other = {"cycle": 2, "more": "text"}
    assert Read.from_json(other) == Read(2)
    assert ReadMore.from_json(other) == ReadMore(2, more="text")
