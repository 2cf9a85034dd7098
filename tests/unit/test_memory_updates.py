"""Superseded facts: only a fact with the same attribute of the same subject and another value is superseded."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from arvis.memory.similarity import Wording, similarity
from arvis.memory.updating import updates

PAIRS = yaml.safe_load(Path(__file__).with_name("memory_pairs.yaml").read_text("utf-8"))


def gives_way(known: str, new: str) -> bool:
    """Return whether `remember` lets the new fact supersede the known one."""
    one, other = Wording.of(new), Wording.of(known)
    like = similarity(one, other)
    return like is not None and not like.same and updates(one, other)


@pytest.mark.parametrize(("known", "new"), PAIRS["updates"])
def test_another_value_of_the_same_attribute_takes_its_place(known: str, new: str) -> None:
    assert gives_way(known, new)


@pytest.mark.parametrize(("known", "new"), PAIRS["both"])
def test_a_fact_about_something_else_stays_beside_it(known: str, new: str) -> None:
    assert not gives_way(known, new)
