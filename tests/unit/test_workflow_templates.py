"""Templates in the texts of drawn nodes (seed 002, behaviour.md 2.7)."""

from __future__ import annotations

from typing import Any

import pytest

from arvis.workflows.bounds import LEAST_OUTPUT, MOST_KEPT, MOST_OUTPUT, bounded, size_of
from arvis.workflows.carried import Carried
from arvis.workflows.templates import fill, known_in


def kept(label: str, output: Any, at: int = 1, **more: Any) -> dict[str, Any]:
    return {"output": output, "label": label, "at": at, **more}


STATE = {
    "workflow": {"trigger": "Hi {{Draft}}"},
    "out:a": kept("Draft", "a text", threadId="thread-1"),
    "out:b": kept("Order", {"total": 5, "lines": [{"name": "pen"}], "gone": None}),
    "out:c": kept("v1.2", "by point"),
    "out:d": kept("Text", '{"city": "Bonn"}'),
    "out:e": kept("Twice", "old", 1),
    "out:f": kept("Twice", "new", 2),
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{PREVIOUS_OUTPUT}} and {{ PREVIOUS_OUTPUT }}", "before and before"),
        ("{{trigger}}", "Hi {{Draft}}"),  # what was put in is not read again
        ("{{Draft}}", "a text"),
        ("{{Draft.result}}", "a text"),
        ("{{Draft.threadId}}", "thread-1"),
        ("{{Order.threadId}}", "{{Order.threadId}}"),
        ("{{Order}}", '{"total":5,"lines":[{"name":"pen"}],"gone":null}'),
        ("{{Order.result.total}}", "5"),
        ("{{Order.result.lines.0.name}}", "pen"),
        ("{{Order.result.gone}}", ""),
        ("{{Order.result.lines.7}}", "{{Order.result.lines.7}}"),
        ("{{v1.2}} {{v1.2.result}}", "by point by point"),
        ("{{Text.result.city}}", "Bonn"),
        ("{{Twice}}", "new"),
        ("{{Nobody}} {{}} {{{{x}}", "{{Nobody}} {{}} {{{{x}}"),  # unknown stays as it is
    ],
)
def test_what_is_known_is_put_in(text: str, filled: str) -> None:
    assert fill(text, known_in(STATE, Carried(output="before"))) == filled


def test_an_output_is_cut_where_it_is_too_long() -> None:
    cut = bounded("é\n" * MOST_OUTPUT, {}, "a")
    assert size_of(cut) <= MOST_OUTPUT
    assert cut.endswith("longer than a run may keep]")
    assert bounded({"a": ["x" * MOST_OUTPUT]}, {}, "a").startswith('{"a"')
    assert bounded("x" * 1_000, {}, "a") == "x" * 1_000


def test_a_run_keeps_so_much_in_all() -> None:
    state = {f"out:{number}": kept("x", "y" * MOST_OUTPUT) for number in range(MOST_KEPT // MOST_OUTPUT)}
    assert size_of(bounded("z" * MOST_OUTPUT, state, "new")) <= LEAST_OUTPUT
    # Its own place is free: a node that runs again takes what it had.
    assert size_of(bounded("z" * MOST_OUTPUT, state, "0")) > MOST_OUTPUT // 2
