"""Generated documents break every rule, and many of them can run.

The long form is `python -m tests.workflows --documents 10000`, which also runs them and asks the API.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.workflow_documents import document
from tests.workflows.judging import Judged, Tally, difference, judged, tally_of

SEED, COUNT = 9, 1_500
#: Rules that only a few documents break, so that a run may break none of them.
RARE = {
    "too-large",
    "too-many-nodes",
    "too-many-connections",
    "join-deadlock",
    "field-few",
    "transfer-in-loop",
    "field-high",
}


@pytest.fixture(scope="module")
def tally() -> Tally:
    return tally_of((number, document(SEED, number)) for number in range(COUNT))


def test_the_documents_break_every_rule_and_many_are_sound(tally: Tally, figures: list[str]) -> None:
    figures.append(f"rules of workflows: {tally}")
    assert tally.unseen <= RARE
    assert tally.runnable >= 0.3 * tally.documents


def test_a_document_is_made_by_its_number() -> None:
    assert [document(SEED, number) for number in range(50)] == [document(SEED, number) for number in range(50)]
    assert document(SEED, 1) != document(SEED + 1, 1)


def test_a_difference_is_seen() -> None:
    sound: dict[str, Any] = {
        "nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent"}],
        "connections": [{"source": "s", "target": "a"}],
    }
    ours, spoiled = judged(sound), judged({**sound, "connections": []})
    assert difference(ours, judged(sound)) is None
    assert (difference(ours, spoiled) or "").startswith("normalised: at .connections")
    warned = Judged(spoiled.document, [*spoiled.problems, spoiled.problems[0]])
    assert (difference(spoiled, warned) or "").startswith("problems: ")
