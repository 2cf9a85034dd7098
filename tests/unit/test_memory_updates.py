"""Superseded facts: only a fact with the same attribute of the same subject and another value is superseded."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bench.recall.supersession import TEST, TUNING, pairs, replaces, score

PAIRS = yaml.safe_load(Path(__file__).with_name("memory_pairs.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("known", "new"), PAIRS["updates"])
def test_another_value_of_the_same_attribute_takes_its_place(known: str, new: str) -> None:
    assert replaces(known, new)


@pytest.mark.parametrize(("known", "new"), PAIRS["both"])
def test_a_fact_about_something_else_stays_beside_it(known: str, new: str) -> None:
    assert not replaces(known, new)


def test_facts_of_the_measured_pairs_are_seldom_replaced_wrongly() -> None:
    for half in (TUNING, TEST):
        got = score(pairs(half))
        assert got.pairs == 84
        assert got.replaced_wrongly <= 1
        assert got.kept_wrongly <= 8
