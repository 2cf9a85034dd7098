"""The editor judges documents as the API and the runtime do: it finds the same problems.

The long form is `python -m tests.workflows --documents 10000`.
"""

from __future__ import annotations

import pytest

from tests.conftest import require
from tests.fixtures.workflow_documents import document
from tests.workflows.parity import Tally, compare
from tests.workflows.preflight import Judged, Preflight, bundled, difference, in_python

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
def preflight(tmp_path_factory: pytest.TempPathFactory) -> Preflight:
    return bundled(require("node"), tmp_path_factory.mktemp("preflight"))


@pytest.fixture(scope="module")
def tally(preflight: Preflight) -> Tally:
    return compare(preflight, [(number, document(SEED, number)) for number in range(COUNT)])


def test_the_editor_finds_the_same_problems(tally: Tally, figures: list[str]) -> None:
    figures.append(f"workflow rules in Python and in the editor: {tally}")
    assert tally.different == []


def test_the_documents_break_every_rule_and_many_are_sound(tally: Tally) -> None:
    assert tally.unseen <= RARE
    assert tally.runnable >= 0.3 * tally.documents


def test_a_document_is_made_by_its_number() -> None:
    assert [document(SEED, number) for number in range(50)] == [document(SEED, number) for number in range(50)]
    assert document(SEED, 1) != document(SEED + 1, 1)


def test_a_difference_is_seen(preflight: Preflight) -> None:
    sound = {
        "nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent"}],
        "connections": [{"source": "s", "target": "a"}],
    }
    spoiled = {**sound, "connections": []}
    (theirs,) = preflight.judge([spoiled])
    assert difference(in_python(spoiled), theirs) is None
    assert (difference(in_python(sound), theirs) or "").startswith("normalised: at .connections")
    warned = Judged(theirs.document, [*theirs.problems, theirs.problems[0]])
    assert (difference(in_python(spoiled), warned) or "").startswith("problems: ")
