"""The drill of `python -m tests.accounts`: every turn is answered, soon after an account could answer it."""

from __future__ import annotations

import pytest

from tests.accounts.drill import jump

#: The highest allowed 95th percentile of the extra wait, in seconds.
GATE = 2.0


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_are_answered_as_soon_as_any_account_can(seed: int) -> None:
    report = jump(turns=10_000, seed=seed)
    assert report.failed == []
    assert report.percentile(0.95) <= GATE, report.figures()
